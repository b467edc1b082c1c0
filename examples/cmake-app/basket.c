#include "basket.h"

void basket_add(struct basket *basket, struct item *item) {
  item->next = basket->first;
  basket->first = item;
  basket->count++;
}

unsigned basket_total(const struct basket *basket, enum currency currency) {
  unsigned total = 0;
  for (const struct item *item = basket->first; item; item = item->next) {
    if (item->price.currency == currency) {
      total += item->price.cents;
    }
  }
  return total;
}
