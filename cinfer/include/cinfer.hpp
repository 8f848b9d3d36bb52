// cinfer.hpp - cinfer.h for C++17: handles that close themselves, errors as exceptions, typed views. Header only.
//
//   cinfer::Model model("digits.gio");
//   cinfer::Session session(model);
//   std::vector<float> image(64), scores(10);
//   session.run("predict", {cinfer::view(image, {1, 64})}, {cinfer::view(scores, {1, 10})});
//
// What may be shared by threads is as cinfer.h says: a Model by all, a Session by none at the same time. Functions of
// ci_allocator, ci_executor and ci_observer cannot report an error: declare them noexcept.
#ifndef CINFER_HPP
#define CINFER_HPP
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cinfer.h"

namespace cinfer {

// The error of a call of the library; what() is the complete sentence.
class Error : public std::runtime_error {
 public:
  explicit Error(const ci_error& error) : std::runtime_error(error.message), details_(error) {}
  Error(ci_status status, const std::string& message) : std::runtime_error(message), details_() {
    details_.status = status;
    message.copy(details_.message, sizeof details_.message - 1);
  }
  ci_status status() const noexcept { return details_.status; }
  const ci_error& details() const noexcept { return details_; }

 private:
  ci_error details_;
};

namespace internal {

inline void check(ci_status status, const ci_error& error) {
  if (status != CI_OK) throw Error(error);
}

[[noreturn]] inline void refuse(ci_status status, const std::string& message) { throw Error(status, message); }

inline ci_status say(ci_error* error, ci_status status, const char* message) noexcept {
  std::size_t length = 0;
  while (length + 1 < sizeof error->message && message[length] != 0) length++;
  std::char_traits<char>::copy(error->message, message, length);
  error->message[length] = 0;
  return status;
}

template <typename T>
struct dtype;  // an element type that a view can have: one of these
template <> struct dtype<float> { static constexpr int32_t value = CI_FLOAT; };
template <> struct dtype<double> { static constexpr int32_t value = CI_DOUBLE; };
template <> struct dtype<int8_t> { static constexpr int32_t value = CI_INT8; };
template <> struct dtype<int16_t> { static constexpr int32_t value = CI_INT16; };
template <> struct dtype<int32_t> { static constexpr int32_t value = CI_INT32; };
template <> struct dtype<int64_t> { static constexpr int32_t value = CI_INT64; };
template <> struct dtype<uint8_t> { static constexpr int32_t value = CI_UINT8; };
template <> struct dtype<uint16_t> { static constexpr int32_t value = CI_UINT16; };
template <> struct dtype<uint32_t> { static constexpr int32_t value = CI_UINT32; };
template <> struct dtype<uint64_t> { static constexpr int32_t value = CI_UINT64; };
template <> struct dtype<bool> { static constexpr int32_t value = CI_BOOL; };

struct Close {
  void operator()(ci_model* model) const noexcept { ci_close(model); }
  void operator()(ci_state* state) const noexcept { ci_state_close(state); }
  void operator()(ci_session* session) const noexcept { ci_session_close(session); }
};

}  // namespace internal

// A view of memory of the caller's, dense and row-major. Throws CI_INVALID_ARGUMENT where there is less than the
// shape needs.
template <typename T>
ci_tensor view(T* data, std::size_t count, const std::vector<std::int64_t>& dims) {
  ci_tensor tensor = {};
  if (dims.size() > CI_MAX_RANK) internal::refuse(CI_INVALID_ARGUMENT, "a tensor has at most 16 dimensions");
  std::size_t requested = 1;
  for (std::size_t i = 0; i < dims.size(); i++) {
    const auto size = static_cast<std::uint64_t>(dims[i]);
    if (dims[i] < 0 || (size != 0 && requested > SIZE_MAX / size)) {
      internal::refuse(CI_INVALID_ARGUMENT, "a dimension is negative or too large");
    }
    requested *= static_cast<std::size_t>(size);
    tensor.dims[i] = dims[i];
  }
  if (requested > count) {
    internal::refuse(CI_INVALID_ARGUMENT, "the shape has " + std::to_string(requested) + " elements, the memory " +
                                              std::to_string(count));
  }
  using Element = std::remove_const_t<T>;
  tensor.data = const_cast<Element*>(data);  // inputs are only read
  tensor.bytes = requested * sizeof(T);
  tensor.dtype = internal::dtype<Element>::value;
  tensor.rank = static_cast<std::int32_t>(dims.size());
  return tensor;
}
template <typename T>
ci_tensor view(std::vector<T>& data, const std::vector<std::int64_t>& dims) {
  return view(data.data(), data.size(), dims);
}
template <typename T>
ci_tensor view(const std::vector<T>& data, const std::vector<std::int64_t>& dims) {
  return view(data.data(), data.size(), dims);
}

// A result in the session's memory, valid until its next run. Throws CI_INVALID_ARGUMENT where it has another type.
template <typename T>
std::vector<T> copy(const ci_tensor& tensor) {
  if (tensor.dtype != internal::dtype<T>::value) {
    internal::refuse(CI_INVALID_ARGUMENT, std::string("the tensor is ") + ci_dtype_name(tensor.dtype));
  }
  const T* data = static_cast<const T*>(tensor.data);
  return std::vector<T>(data, data + tensor.bytes / sizeof(T));
}

// A file, verified, with its constants. Movable; sessions keep what they need of it.
class Model {
 public:
  explicit Model(const std::string& path, const ci_options& options = ci_defaults()) {
    ci_model* model = nullptr;
    ci_error error;
    internal::check(ci_open(path.c_str(), &options, &model, &error), error);
    handle_.reset(model);
  }
  Model(const void* data, std::size_t bytes, const ci_options& options = ci_defaults()) {
    ci_model* model = nullptr;
    ci_error error;
    internal::check(ci_open_memory(data, bytes, &options, &model, &error), error);
    handle_.reset(model);
  }
  ci_model* get() const noexcept { return handle_.get(); }
  std::vector<std::string> signatures() const {
    std::vector<std::string> names;
    for (int i = 0; i < ci_signature_count(get()); i++) names.emplace_back(ci_signature_name(get(), i));
    return names;
  }
  // A signature's number; CI_NOT_FOUND if there is none of the name.
  int signature(const std::string& name) const {
    const int number = ci_signature(get(), name.c_str());
    if (number < 0) internal::refuse(CI_NOT_FOUND, "the model has no signature '" + name + "'");
    return number;
  }
  std::vector<ci_info> inputs(const std::string& name) const {
    return infos(signature(name), ci_input_count, ci_input);
  }
  std::vector<ci_info> outputs(const std::string& name) const {
    return infos(signature(name), ci_output_count, ci_output);
  }

 private:
  std::vector<ci_info> infos(int number, int (*count)(const ci_model*, int),
                             ci_status (*get_info)(const ci_model*, int, int, ci_info*)) const {
    std::vector<ci_info> found(static_cast<std::size_t>(count(get(), number)));
    for (std::size_t i = 0; i < found.size(); i++) get_info(get(), number, static_cast<int>(i), &found[i]);
    return found;
  }
  std::unique_ptr<ci_model, internal::Close> handle_;
};

// Calls a function that returns a ci_status or throws, for C, which no exception may cross: what is thrown becomes a
// status and a message. An Error keeps its status, std::bad_alloc is CI_RESOURCE_EXHAUSTED, all else CI_UNKNOWN.
template <typename F>
ci_status guarded(ci_error* error, F&& call) noexcept {
  try {
    return call();
  } catch (const Error& thrown) {
    return internal::say(error, thrown.status(), thrown.what());
  } catch (const std::bad_alloc&) {
    return internal::say(error, CI_RESOURCE_EXHAUSTED, "no memory");
  } catch (const std::exception& thrown) {
    return internal::say(error, CI_UNKNOWN, thrown.what());
  } catch (...) {
    return internal::say(error, CI_UNKNOWN, "an exception that is not a std::exception");
  }
}

// A custom operator from two functions, which may throw: the exception's message is the error of the run. It must
// outlive the models that are opened with it, and stays where it is:
//
//   cinfer::Operator twice("com.example", "Twice", same_shape, [](ci_call& call) { ...; return CI_OK; });
//   const ci_operator* all[] = {twice.get()};
//   ci_options options = ci_defaults();
//   options.operators = all, options.operator_count = 1;
class Operator {
 public:
  using Function = std::function<ci_status(ci_call&)>;
  Operator(std::string domain, std::string name, Function shape, Function run)
      : domain_(std::move(domain)), name_(std::move(name)), shape_(std::move(shape)), run_(std::move(run)) {
    declared_.size = sizeof declared_;
    declared_.domain = domain_.c_str();
    declared_.name = name_.c_str();
    declared_.since = declared_.min_inputs = declared_.max_inputs = declared_.min_outputs = declared_.max_outputs = 1;
    declared_.user = this;
    declared_.shape = [](void* user, ci_call* call, ci_error* error) noexcept {
      return guarded(error, [&] { return static_cast<Operator*>(user)->shape_(*call); });
    };
    declared_.run = [](void* user, ci_call* call, ci_error* error) noexcept {
      return guarded(error, [&] { return static_cast<Operator*>(user)->run_(*call); });
    };
  }
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  // Versions, numbers of inputs and outputs, all 1 at first, and `stateful`: to be changed before a model is opened.
  ci_operator& declaration() noexcept { return declared_; }
  const ci_operator* get() const noexcept { return &declared_; }

 private:
  std::string domain_, name_;
  Function shape_, run_;
  ci_operator declared_ = {};
};

// In an operator's run: part(begin, end) for parts of [0, n) on the session's threads. When all have returned, what the
// first of them threw is thrown.
template <typename F>
void parallel(const ci_call& call, std::int64_t n, std::int64_t grain, F&& part) {
  struct Job {
    std::remove_reference_t<F>& part;
    std::mutex lock;
    std::exception_ptr thrown;
  } job{part, {}, nullptr};
  const auto one = [](void* argument, std::int64_t begin, std::int64_t end) noexcept {
    Job& its = *static_cast<Job*>(argument);
    try {
      its.part(begin, end);
    } catch (...) {
      const std::lock_guard<std::mutex> held(its.lock);
      if (!its.thrown) its.thrown = std::current_exception();
    }
  };
  call.services->parallel(&call, n, grain, one, &job);
  if (job.thrown) std::rethrow_exception(job.thrown);
}

// The functions that HostCall nodes reach, as one, which may throw: `options.host = host.get()`. It must outlive the
// session and stays where it is.
class Host {
 public:
  using Function = std::function<void(ci_host_call&)>; // gives every output
  explicit Host(Function call) : call_(std::move(call)) {}
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ci_host get() noexcept {
    ci_host host = {};
    host.user = this;
    host.call = [](void* user, ci_host_call* call, ci_error* error) noexcept {
      return guarded(error, [&] {
        static_cast<Host*>(user)->call_(*call);
        return ci_status{CI_OK};
      });
    };
    return host;
  }

 private:
  Function call_;
};
inline void give(ci_host_call& call, std::int32_t output, const ci_tensor& value) {
  ci_error error;
  internal::check(ci_host_give(&call, output, &value, &error), error);
}

// Variables and generators by name, which several sessions may share, one run at a time.
class State {
 public:
  explicit State(const ci_state_options& options = ci_state_defaults()) {
    ci_state* state = nullptr;
    ci_error error;
    internal::check(ci_state_open(&options, &state, &error), error);
    handle_.reset(state);
  }
  ci_state* get() const noexcept { return handle_.get(); }

 private:
  std::unique_ptr<ci_state, internal::Close> handle_;
};

// A model being run, on a separate state or on one that is shared.
class Session {
 public:
  explicit Session(const Model& model, const ci_session_options& options = ci_session_defaults())
      : Session(model, nullptr, options) {}
  Session(const Model& model, const State& state, const ci_session_options& options = ci_session_defaults())
      : Session(model, state.get(), options) {}

  ci_session* get() const noexcept { return handle_.get(); }
  ci_state* state() const noexcept { return ci_session_state(get()); }

  // Runs a signature. Without outputs the results are views of the session's memory, valid until its next run.
  std::vector<ci_tensor> run(const std::string& name, const std::vector<ci_tensor>& inputs,
                             std::vector<ci_tensor> outputs = {}) {
    const int number = ci_signature(model_, name.c_str());
    if (number < 0) internal::refuse(CI_NOT_FOUND, "the model has no signature '" + name + "'");
    if (outputs.empty()) outputs.resize(static_cast<std::size_t>(ci_output_count(model_, number)));
    ci_error error;
    internal::check(ci_run(get(), number, inputs.data(), static_cast<int>(inputs.size()), outputs.data(),
                           static_cast<int>(outputs.size()), &error),
                    error);
    return outputs;
  }
  void cancel() noexcept { ci_cancel(get()); }  // from any thread
  void set_deadline(uint64_t nanoseconds) {     // of each call from the next one on; 0: none
    ci_error error;
    internal::check(ci_session_set_deadline(get(), nanoseconds, &error), error);
  }

  // The checkpoint of a prefix, as tf.train.Saver and ci_save write it; step -1: none.
  void save(const std::string& prefix, std::int64_t step = -1, bool with_graph = false) {
    ci_error error;
    internal::check(ci_save(state(), with_graph ? model_ : nullptr, prefix.c_str(), step, &error), error);
  }
  std::int64_t restore(const std::string& prefix) {
    std::int64_t step = -1;
    ci_error error;
    internal::check(ci_restore(state(), prefix.c_str(), &step, &error), error);
    return step;
  }

 private:
  Session(const Model& model, ci_state* state, const ci_session_options& options) : model_(model.get()) {
    ci_session* session = nullptr;
    ci_error error;
    internal::check(ci_session_open(model_, state, &options, &session, &error), error);
    handle_.reset(session);
  }
  ci_model* model_;  // the session holds it open
  std::unique_ptr<ci_session, internal::Close> handle_;
};

}  // namespace cinfer
#endif
