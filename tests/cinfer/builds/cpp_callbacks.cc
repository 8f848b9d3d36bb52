// cpp_callbacks.cc - operators and host functions in C++ that throw: each exception is the error of its run, and the
// next run is a good one. Argument: a model with signature "run", whose input goes through com.example.Own and a host
// function. Prints nothing and returns 0 when all held.
#include <cinfer.hpp>
#include <cstdio>
#include <stdexcept>

struct Expected {
  const char* where;
  void (*act)();
  ci_status status;
  const char* words;
};

static const Expected expected[] = {
    {"shape", [] { throw std::runtime_error("no shape"); }, CI_UNKNOWN, "no shape"},
    {"run", [] { throw std::runtime_error(std::string(3000, 'x')); }, CI_UNKNOWN, "xxxxxxxx"},
    {"run", [] { throw cinfer::Error(CI_OUT_OF_RANGE, "too far"); }, CI_OUT_OF_RANGE, "too far"},
    {"run", [] { throw std::bad_alloc(); }, CI_RESOURCE_EXHAUSTED, "no memory"},
    {"run", [] { throw 7; }, CI_UNKNOWN, "not a std::exception"},
    {"part", [] { throw std::runtime_error("in a part"); }, CI_UNKNOWN, "in a part"},
    {"host", [] { throw std::runtime_error("from the host"); }, CI_UNKNOWN, "from the host"},
    {"host", [] { throw cinfer::Error(CI_NOT_FOUND, "no such row"); }, CI_NOT_FOUND, "no such row"},
};

static const Expected* now = nullptr;

static void act(const std::string& where) {
  if (now != nullptr && where == now->where) now->act();
}

static ci_status own_shape(ci_call& call) {
  act("shape");
  call.outputs[0] = call.inputs[0];
  return CI_OK;
}

static ci_status own_run(ci_call& call) {
  act("run");
  const float* x = static_cast<const float*>(call.inputs[0].data);
  float* y = static_cast<float*>(call.outputs[0].data);
  cinfer::parallel(call, call.inputs[0].dims[0], 1, [&](std::int64_t begin, std::int64_t end) {
    act("part");
    for (std::int64_t i = begin; i < end; i++) y[i] = 2 * x[i];
  });
  return CI_OK;
}

static void host_call(ci_host_call& call) {
  act("host");
  cinfer::give(call, 0, call.inputs[0]);
}

// A run on `n` numbers; a size that is new has its shape planned.
static bool good(cinfer::Session& session, std::size_t n) {
  const std::vector<float> x(n, 3.0f);
  const auto found = session.run("run", {cinfer::view(x, {static_cast<std::int64_t>(n)})});
  return cinfer::copy<float>(found[0]) == std::vector<float>(n, 6.0f);
}

static bool fails(cinfer::Session& session, const Expected& one) {
  now = &one;
  try {
    good(session, one.where == std::string("shape") ? 9 : 4);
  } catch (const cinfer::Error& error) {
    now = nullptr;
    const std::string reported = error.what();
    return error.status() == one.status && reported.find(one.words) != std::string::npos;
  }
  return false;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  cinfer::Operator own("com.example", "Own", own_shape, own_run);
  cinfer::Host host(host_call);
  const ci_operator* all[] = {own.get()};
  ci_options options = ci_defaults();
  options.operators = all;
  options.operator_count = 1;
  const cinfer::Model model(argv[1], options);
  for (const int threads : {1, 2}) {
    ci_session_options session_options = ci_session_defaults();
    session_options.threads = threads;
    session_options.host = host.get();
    for (const Expected& one : expected) {
      cinfer::Session session(model, session_options);
      if (!good(session, 4) || !fails(session, one) || !good(session, 4) || !good(session, 9)) {
        return std::printf("%s: %s\n", one.where, one.words), 1;
      }
    }
  }
  return 0;
}
