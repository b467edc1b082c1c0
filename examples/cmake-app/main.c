#include <stdio.h>

#include "basket.h"

int main(void) {
  struct item tea = {"tea", {EUR, 495}, 0};
  struct item cup = {"cup", {EUR, 1250}, 0};
  struct basket basket = {0, 0};
  basket_add(&basket, &tea);
  basket_add(&basket, &cup);
  printf("%u items, %u cents\n", basket.count, basket_total(&basket, EUR));
  return 0;
}
