// FunctionRef<R(A...)>: a callable passed down the stack; two words, never allocates, never owns.
// Use as a parameter only.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace btfloom {

template <typename Signature>
class FunctionRef;

template <typename R, typename... A>
class FunctionRef<R(A...)> {
 public:
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
           std::is_invocable_r_v<R, F&, A...>)
      FunctionRef(F&& f)  // NOLINT(google-explicit-constructor): stands for the callable
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, A... arguments) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<A>(arguments)...);
        }) {}

  R operator()(A... arguments) const { return call_(object_, std::forward<A>(arguments)...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

}  // namespace btfloom
