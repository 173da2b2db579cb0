// b+tree with nodes of 508 keys, as many threads a block as in Rodinia.

#include "../b+tree/b+tree.cu"
