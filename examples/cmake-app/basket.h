#ifndef BASKET_H
#define BASKET_H

enum currency { EUR, USD, JPY };

struct price {
  enum currency currency : 4;
  unsigned cents : 28;
};

struct item {
  const char *name;
  struct price price;
  struct item *next;
};

struct basket {
  struct item *first;
  unsigned count;
};

void basket_add(struct basket *basket, struct item *item);
unsigned basket_total(const struct basket *basket, enum currency currency);

#endif
