/* nms.c - NonMaxSuppression: boxes by descending score, without those that overlap a chosen one too much. */
#include "../ci_kernel.h"
#include "../arithmetic/integers.h"

typedef struct nms_plan {
  int64_t boxes, classes, batches, most, found;
  bool center;
  float overlap, least;
  bool scored;                /* whether a least score was given */
  int64_t *order, *selection; /* box numbers by score; rows of the output */
} nms_plan;

static ci_status nms_number(ci_kernel *k, int i, const char *name, float *value, bool *given) {
  if (i >= k->n_in || k->in[i] == NULL) return CI_OK;
  if (k->in[i]->dtype != CI_FLOAT || k->in[i]->count != 1) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s must be one float32 number", name);
  }
  if (!ci_k_known(k, i)) return CI_PENDING;
  *value = *(const float *)k->in[i]->data;
  if (given != NULL) *given = true;
  return CI_OK;
}

/* The corners of a box, the smaller first. */
static void nms_corners(const nms_plan *p, const float *box, float *c) {
  if (p->center) {
    const float w = box[2] / 2.0f, h = box[3] / 2.0f;
    c[0] = box[0] - w, c[1] = box[1] - h, c[2] = box[0] + w, c[3] = box[1] + h;
    return;
  }
  for (int i = 0; i < 2; i++) {
    c[i] = box[i] < box[i + 2] ? box[i] : box[i + 2];
    c[i + 2] = box[i] < box[i + 2] ? box[i + 2] : box[i];
  }
}

/* In float32, so that an overlap that equals the threshold as written does not pass it. */
static bool nms_overlaps(const nms_plan *p, const float *one, const float *two) {
  float a[4], b[4], side[2];
  nms_corners(p, one, a);
  nms_corners(p, two, b);
  for (int i = 0; i < 2; i++) {
    const float low = a[i] > b[i] ? a[i] : b[i], high = a[i + 2] < b[i + 2] ? a[i + 2] : b[i + 2];
    side[i] = high - low;
    if (!(side[i] > 0.0f)) return false;
  }
  const float both = side[0] * side[1];
  const float area_a = (a[2] - a[0]) * (a[3] - a[1]), area_b = (b[2] - b[0]) * (b[3] - b[1]);
  if (!(area_a > 0.0f && area_b > 0.0f)) return false;
  return both / (area_a + area_b - both) > p->overlap;
}

/* Whether box i comes after box j: by score, then by number. */
static bool nms_after(const float *scores, int64_t i, int64_t j) {
  return scores[i] < scores[j] || (!(scores[i] > scores[j]) && i > j);
}

static void nms_sift(int64_t *order, int64_t at, int64_t n, const float *scores) {
  for (int64_t child = 2 * at + 1; child < n; at = child, child = 2 * at + 1) {
    if (child + 1 < n && nms_after(scores, order[child + 1], order[child])) child++;
    if (!nms_after(scores, order[child], order[at])) return;
    const int64_t swap = order[at];
    order[at] = order[child];
    order[child] = swap;
  }
}

static void nms_sort(int64_t *order, int64_t n, const float *scores) {
  for (int64_t i = n / 2; i-- > 0;) nms_sift(order, i, n, scores);
  for (int64_t last = n - 1; last > 0; last--) {
    const int64_t swap = order[0];
    order[0] = order[last];
    order[last] = swap;
    nms_sift(order, 0, last, scores);
  }
}

static void nms_class(nms_plan *p, const float *boxes, const float *scores, int64_t batch, int64_t class) {
  const int64_t first = p->found;
  int64_t n = 0;
  for (int64_t i = 0; i < p->boxes; i++) {
    if (scores[i] == scores[i] && (!p->scored || scores[i] > p->least)) p->order[n++] = i;
  }
  nms_sort(p->order, n, scores);
  for (int64_t i = 0; i < n && p->found - first < p->most; i++) {
    const int64_t box = p->order[i];
    bool free = true;
    for (int64_t s = first; s < p->found && free; s++) {
      free = !nms_overlaps(p, boxes + 4 * box, boxes + 4 * p->selection[3 * s + 2]);
    }
    if (!free) continue;
    int64_t *row = p->selection + 3 * p->found++;
    row[0] = batch, row[1] = class, row[2] = box;
  }
}

/* Each box may be compared with each. */
static bool nms_is_short(const ci_kernel *k, const nms_plan *p) {
  size_t work;
  if (!ci_mul_size((uint64_t)p->boxes, (uint64_t)p->most, &work) ||
      !ci_mul_size(work, (uint64_t)(p->batches * p->classes), &work))
    work = SIZE_MAX;
  return ci_k_may_read(k, work);
}

/* The number of rows depends on the numbers: everything is chosen here, run copies it. */
ci_status ci_prepare_non_max_suppression(ci_kernel *k) {
  const ci_value *boxes = k->in[0], *scores = k->in[1];
  int64_t center, most[1] = {0};
  int count = 1;
  nms_plan head = {.scored = false};
  CI_TRY(ci_k_attr_i(k, "center_point_box", 0, &center));
  if (boxes->dtype != CI_FLOAT || scores->dtype != CI_FLOAT || boxes->rank != 3 || scores->rank != 3 ||
      boxes->dims[2] != 4 || boxes->dims[0] != scores->dims[0] || boxes->dims[1] != scores->dims[2]) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "expected float32 boxes (n, boxes, 4) and scores (n, classes, boxes)");
  }
  if (k->n_in > 2 && k->in[2] != NULL) CI_TRY(ci_k_known_ints(k, 2, most, 1, &count));
  if (count != 1) return ci_k_fail(k, CI_INVALID_ARGUMENT, "max_output_boxes_per_class must be one integer");
  CI_TRY(nms_number(k, 3, "iou_threshold", &head.overlap, NULL));
  CI_TRY(nms_number(k, 4, "score_threshold", &head.least, &head.scored));
  if (!(head.overlap >= 0.0f && head.overlap <= 1.0f)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "iou_threshold is %g, expected 0 to 1", (double)head.overlap);
  }
  head.center = center != 0;
  head.batches = boxes->dims[0], head.boxes = boxes->dims[1], head.classes = scores->dims[1];
  head.most = most[0] < 0 ? 0 : most[0] < head.boxes ? most[0] : head.boxes;
  const bool work = boxes->count > 0 && scores->count > 0 && head.most > 0;
  if (work && (!ci_k_known(k, 0) || !ci_k_known(k, 1) || !nms_is_short(k, &head))) return CI_PENDING;
  size_t rows = 0, bytes;
  if (work && !ci_mul_size((uint64_t)(head.batches * head.classes), (uint64_t)head.most, &rows)) rows = SIZE_MAX;
  if (!work) head.boxes = 0; /* without batches there may be any number of boxes */
  if (!ci_mul_size(rows, 24, &bytes) || !ci_add_size(bytes, sizeof head + 8 * (size_t)head.boxes, &bytes)) {
    return ci_k_no_memory(k);
  }
  nms_plan *p = ci_k_private(k, bytes);
  if (p == NULL) return ci_k_no_memory(k);
  *p = head;
  p->order = (int64_t *)(void *)(p + 1);
  p->selection = p->order + p->boxes;
  for (int64_t b = 0; b < p->batches && work; b++) {
    for (int64_t c = 0; c < p->classes; c++) {
      nms_class(p, (const float *)boxes->data + b * p->boxes * 4,
                (const float *)scores->data + (b * p->classes + c) * p->boxes, b, c);
    }
  }
  return ci_k_out(k, 0, CI_INT64, 2, (const int64_t[]){p->found, 3});
}

ci_status ci_run_non_max_suppression(ci_kernel *k) {
  const nms_plan *p = k->private_memory;
  if (p->found > 0) memcpy(k->out[0]->data, p->selection, (size_t)p->found * 24);
  return CI_OK;
}
