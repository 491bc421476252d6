/// A large value that a collection holds by reference, so that looking one thing up in it copies nothing else, and changing it
/// moves nothing. It is a value all the same: copies share it until one of them is changed.
///
/// A `Dictionary` hands out a copy of what it is asked for: of a source's recorder that is some thirty references to count up and
/// down, for every message of every source.
// @unchecked: what is shared is only read; who changes it has it alone, which isKnownUniquelyReferenced has said.
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
}
