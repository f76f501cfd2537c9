// Stands in for Node's node_object_wrap.h when better-sqlite3 12 is compiled for Node 24: docs/decisions/0006-node-24.md.
//
// Since Node 24.16 the class of that header asks, when it is destroyed, for the environment that is running. Garbage is
// collected while none is, and Node aborts. This is the same class without the question: what better-sqlite3 needs to be
// told when an environment ends, it is told by a hook of its own.
#ifndef SRC_NODE_OBJECT_WRAP_H_
#define SRC_NODE_OBJECT_WRAP_H_

#include <cassert>
#include "node.h"

namespace node {

class ObjectWrap {
 public:
  ObjectWrap() = default;
  ObjectWrap(const ObjectWrap&) = delete;
  ObjectWrap& operator=(const ObjectWrap&) = delete;

  virtual ~ObjectWrap() {
    if (handle_.IsEmpty()) return;
    handle_.ClearWeak();
    handle_.Reset();
  }

  template <class T>
  static T* Unwrap(v8::Local<v8::Object> handle) {
    assert(!handle.IsEmpty() && handle->InternalFieldCount() > 0);
    // By way of ObjectWrap: a class with several bases lies elsewhere.
    return static_cast<T*>(static_cast<ObjectWrap*>(handle->GetAlignedPointerFromInternalField(0)));
  }

  v8::Local<v8::Object> handle() { return handle(v8::Isolate::GetCurrent()); }
  v8::Local<v8::Object> handle(v8::Isolate* isolate) { return v8::Local<v8::Object>::New(isolate, handle_); }
  v8::Persistent<v8::Object>& persistent() { return handle_; }

 protected:
  void Wrap(v8::Local<v8::Object> handle) {
    assert(handle_.IsEmpty() && handle->InternalFieldCount() > 0);
    handle->SetAlignedPointerInInternalField(0, this);
    handle_.Reset(v8::Isolate::GetCurrent(), handle);
    MakeWeak();
  }

  void MakeWeak() { handle_.SetWeak(this, Collected, v8::WeakCallbackType::kParameter); }

  virtual void Ref() {
    handle_.ClearWeak();
    refs_++;
  }

  virtual void Unref() {
    assert(refs_ > 0);
    if (--refs_ == 0) MakeWeak();
  }

  int refs_ = 0;

 private:
  static void Collected(const v8::WeakCallbackInfo<ObjectWrap>& data) {
    ObjectWrap* wrap = data.GetParameter();
    assert(wrap->refs_ == 0);
    wrap->handle_.Reset();
    delete wrap;
  }

  v8::Persistent<v8::Object> handle_;
};

}  // namespace node

#endif  // SRC_NODE_OBJECT_WRAP_H_
