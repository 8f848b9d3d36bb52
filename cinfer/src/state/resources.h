/* resources.h - resources that a state keeps by name: blobs of the caller and positions of iterators. */
#ifndef CI_RESOURCES_H
#define CI_RESOURCES_H
#include "../ci_schema.h"
#include "../base/memory.h"

enum { /* kinds: fields of CheckpointResource */
       CI_RESOURCE_GENERATOR = CI_PB_CHECKPOINTRESOURCE_GENERATOR,
       CI_RESOURCE_ITERATOR = CI_PB_CHECKPOINTRESOURCE_ITERATOR,
       CI_RESOURCE_BLOB = CI_PB_CHECKPOINTRESOURCE_BLOB
};

typedef struct ci_resource { /* never a generator */
  char *name;                /* owned, terminated */
  uint8_t *data;             /* owned: a blob's bytes, or the message IteratorState as it was read */
  size_t bytes;
  uint32_t kind;
} ci_resource;

typedef CI_LIST(ci_resource) ci_resources; /* sorted by name */

/* Copies a resource in, in the place of one of the name; false: out of memory, nothing has changed. */
bool ci_resources_put(const ci_allocator *allocator, ci_resources *list, ci_span name, uint32_t kind, ci_span data);
/* False: there is none of that name. */
bool ci_resources_remove(const ci_allocator *allocator, ci_resources *list, ci_span name);
const ci_resource *ci_resources_find(const ci_resources *list, ci_span name); /* or NULL */
/* CI_ALREADY_EXISTS: one has the name of a generator that is new. */
ci_status ci_resources_admit(const ci_resources *list, ci_span generator, ci_error *error);
void ci_resources_free(const ci_allocator *allocator, ci_resources *list);
#endif
