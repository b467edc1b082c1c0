// The problem: two units hold the same cyclic types, numbered differently, perhaps with copies.
// Give equal types equal hashes, and different ones different hashes.
//
//   struct a { struct b *b; };   struct b { struct a *a; int n; };      // reached only through
//   each other
//
// Idea, in three steps. 1. Colour. Start with every selected type's content, references to selected
// types left blank. Then recolour: content
//    again, with the colours of the targets. Repeat until the number of colours stops growing.
//    Types of one colour are then equal (this is partition refinement); from here on one
//    representative stands for its colour.
// 2. Order. Find the strongly connected components of the representatives, targets first (Tarjan's
// algorithm). 3. Hash each component. References that leave it already have deep shapes. Inside it,
// colour as in step 1 until the
//    partition is stable after r rounds, and once more. The digest of the component is the hash of
//    its sorted colours; the deep shape of a type is the hash of its own last colour and the
//    digest.
//
// Why step 3 is exact: let two components G and H have the same r, and the same set of colours
// after round r+1. Map types of equal colour onto each other. A colour of round r+1 fixes the
// content and the round-r colours of the targets; the round-r colours within H are distinct
// already; so the target of an image is the image of the target. The map is a bisimulation. r and
// the number of colours are part of the digest.
//
// Cost: a few rounds (names make most types distinct at once) over the content of the selected
// types.
#include "dedup/deep_shape.h"

#include <algorithm>
#include <unordered_map>

namespace btfloom {

namespace {

constexpr std::uint32_t kUnselected = 0xffffffff;

bool is_less(const Hash128& a, const Hash128& b) {
  return a.high != b.high ? a.high < b.high : a.low < b.low;
}

class DeepShapes {
 public:
  DeepShapes(const Fragment& fragment, const std::vector<TypeRef>& selected, TagReferences tags,
             Shapes& shapes)
      : fragment_(fragment), selected_(selected), tags_(tags), shapes_(shapes) {
    slot_.assign(fragment.types.size(), kUnselected);
    for (std::uint32_t i = 0; i < selected.size(); ++i) {
      slot_[selected[i]] = i;
    }
  }

  void run() {
    find_representatives();
    find_components();
    for (const std::vector<std::uint32_t>& component : components_) {
      hash_component(component);
    }
    for (std::uint32_t i = 0; i < selected_.size(); ++i) {
      const Hash128 deep = deep_[representative_[i]];
      shapes_.content[selected_[i]] = deep;
      if (counts_through(selected_[i])) {
        shapes_.link[selected_[i]].hash = deep;
      }
    }
  }

 private:
  // Whether a reference to `target` is followed here.
  [[nodiscard]] bool counts_through(TypeRef target) const {
    return target != kVoid && slot_[target] != kUnselected &&
           (tags_ == TagReferences::kThrough || !is_tag(fragment_.types[target]));
  }

  // Content of slot `i`; `inner(slot)` says what a reference that is followed counts as.
  template <typename Inner>
  Hash128 hash_content(std::uint32_t i, Inner&& inner) {
    gather_content(
        fragment_, fragment_.types[selected_[i]],
        [&](TypeRef target) {
          if (counts_through(target)) {
            return inner(slot_[target]);
          }
          return target == kVoid ? kVoidLink : shapes_.link[target].hash;
        },
        input_);
    return input_.hash();
  }

  // Recolours `slots` until the partition is stable; returns the number of rounds. colour_ holds
  // one round more.
  template <typename Inner>
  std::size_t refine(const std::vector<std::uint32_t>& slots, Inner&& inner) {
    std::size_t classes = 0;
    std::vector<Hash128> next(slots.size());
    std::unordered_map<Hash128, std::uint32_t, HashOfHash128> seen;
    for (std::size_t round = 0;; ++round) {
      seen.clear();
      for (std::size_t k = 0; k < slots.size(); ++k) {
        next[k] = hash_content(slots[k], inner);
        seen.emplace(next[k], slots[k]);
      }
      for (std::size_t k = 0; k < slots.size(); ++k) {
        colour_[slots[k]] = next[k];
      }
      if (seen.size() == classes) {
        return round;
      }
      classes = seen.size();
    }
  }

  void find_representatives() {
    colour_.assign(selected_.size(), Hash128{});
    std::vector<std::uint32_t> all(selected_.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      all[i] = i;
    }
    refine(all, [&](std::uint32_t target) { return colour_[target]; });
    std::unordered_map<Hash128, std::uint32_t, HashOfHash128> first;
    representative_.resize(selected_.size());
    for (std::uint32_t i = 0; i < selected_.size(); ++i) {
      representative_[i] = first.emplace(colour_[i], i).first->second;
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> targets_of(std::uint32_t i) const {
    std::vector<std::uint32_t> targets;
    for_each_reference(fragment_, fragment_.types[selected_[i]], [&](TypeRef target) {
      if (counts_through(target)) {
        targets.push_back(representative_[slot_[target]]);
      }
    });
    return targets;
  }

  // Tarjan's algorithm with an explicit stack: components come out targets first.
  void find_components() {
    struct Frame {
      std::uint32_t slot;
      std::vector<std::uint32_t> targets;
      std::size_t next = 0;
    };
    const std::size_t count = selected_.size();
    std::vector<std::uint32_t> number(count, 0);
    std::vector<std::uint32_t> low(count, 0);
    std::vector<std::uint8_t> on_stack(count, 0);
    std::vector<std::uint32_t> stack;
    std::vector<Frame> frames;
    std::uint32_t counter = 0;
    const auto open = [&](std::uint32_t slot) {
      number[slot] = low[slot] = ++counter;
      stack.push_back(slot);
      on_stack[slot] = 1;
      frames.push_back({slot, targets_of(slot)});
    };
    for (std::uint32_t start = 0; start < count; ++start) {
      if (representative_[start] != start || number[start] != 0) {
        continue;
      }
      open(start);
      while (!frames.empty()) {
        Frame& frame = frames.back();
        if (frame.next < frame.targets.size()) {
          const std::uint32_t target = frame.targets[frame.next++];
          if (number[target] == 0) {
            open(target);
          } else if (on_stack[target] != 0) {
            low[frame.slot] = std::min(low[frame.slot], number[target]);
          }
          continue;
        }
        const std::uint32_t slot = frame.slot;
        frames.pop_back();
        if (!frames.empty()) {
          low[frames.back().slot] = std::min(low[frames.back().slot], low[slot]);
        }
        if (low[slot] == number[slot]) {
          close_component(slot, stack, on_stack);
        }
      }
    }
  }

  void close_component(std::uint32_t root, std::vector<std::uint32_t>& stack,
                       std::vector<std::uint8_t>& on_stack) {
    std::vector<std::uint32_t> component;
    std::uint32_t slot = 0;
    do {
      slot = stack.back();
      stack.pop_back();
      on_stack[slot] = 0;
      component_of_.resize(selected_.size(), kUnselected);
      component_of_[slot] = static_cast<std::uint32_t>(components_.size());
      component.push_back(slot);
    } while (slot != root);
    components_.push_back(std::move(component));
  }

  void hash_component(const std::vector<std::uint32_t>& component) {
    deep_.resize(selected_.size());
    const std::uint32_t self = component_of_[component.front()];
    for (const std::uint32_t slot : component) {
      colour_[slot] = Hash128{};
    }
    const std::size_t rounds = refine(component, [&](std::uint32_t target) {
      const std::uint32_t slot = representative_[target];
      return component_of_[slot] == self ? colour_[slot] : deep_[slot];
    });
    std::vector<Hash128> colours;
    for (const std::uint32_t slot : component) {
      colours.push_back(colour_[slot]);
    }
    std::sort(colours.begin(), colours.end(), is_less);
    input_.start(16 + colours.size() * 16);
    input_.add(rounds);
    input_.add(colours.size());
    for (const Hash128& colour : colours) {
      input_.add(colour);
    }
    const Hash128 digest = input_.hash();
    for (const std::uint32_t slot : component) {
      input_.start(40);
      input_.add(0xfe00);  // no plain content starts with such a kind
      input_.add(colour_[slot]);
      input_.add(digest);
      deep_[slot] = input_.hash();
    }
  }

  const Fragment& fragment_;
  const std::vector<TypeRef>& selected_;
  TagReferences tags_;
  Shapes& shapes_;
  HashInput input_;
  std::vector<std::uint32_t> slot_;            // type -> slot
  std::vector<std::uint32_t> representative_;  // slot -> slot
  std::vector<Hash128> colour_;                // by slot
  std::vector<Hash128> deep_;                  // by slot, of representatives
  std::vector<std::uint32_t> component_of_;
  std::vector<std::vector<std::uint32_t>> components_;
};

}  // namespace

void compute_deep_shapes(const Fragment& fragment, const std::vector<TypeRef>& selected,
                         TagReferences tags, Shapes& shapes) {
  if (!selected.empty()) {
    DeepShapes(fragment, selected, tags, shapes).run();
  }
}

}  // namespace btfloom
