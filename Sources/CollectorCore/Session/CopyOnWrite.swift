/// A large value that a collection holds by reference, with value semantics: copies share storage until one of them is
/// changed. A lookup copies nothing else, and a change moves nothing.
///
/// A `Dictionary` returns a copy of an element on lookup: for a source's recorder, that is some thirty references to
/// retain and release for every message of every source.
// @unchecked: shared storage is only read; it is changed only by its sole owner, as isKnownUniquelyReferenced has confirmed.
struct CopyOnWrite<Value: Sendable>: @unchecked Sendable {
    private final class Storage {
        var value: Value
        init(_ value: Value) { self.value = value }
    }

    private var storage: Storage

    init(_ value: Value) { storage = Storage(value) }

    var value: Value {
        _read { yield storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
            yield &storage.value
        }
    }

    /// Reads the value without copying it.
    func read<Result>(_ body: (borrowing Value) -> Result) -> Result { body(storage.value) }
}
