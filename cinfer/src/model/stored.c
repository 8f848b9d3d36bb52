/* stored.c - finds bytes of the graph section by the offset of their length. */
#include "model.h"

ci_span ci_stored_bytes(const ci_model *model, ci_stored at) {
  return at == 0 ? (ci_span){NULL, 0} : ci_wire_stored(model->section, at);
}

ci_stored ci_stored_of(const ci_model *model, const ci_field *field) {
  return (ci_stored)(field->at - model->section.data);
}
