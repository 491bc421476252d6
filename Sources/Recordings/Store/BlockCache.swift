import Synchronization

/// Blocks of objects that were read from a store, up to a number of bytes; the least recently used go first. Any thread may use it.
package final class BlockCache: Sendable {
    /// Heads of fragments are read one by one, and of a short clip little more than its bytes may be fetched: larger blocks would fetch
    /// more than is wanted, smaller ones would be more requests than bytes are worth.
    package static let blockBytes = 64 << 10

    /// One version of an object: its key and its tag.
    struct Object: Hashable {
        var key: String
        var tag: String
    }

    private struct Place: Hashable {
        var object: Object
        var index: Int64
    }

    private struct State {
        var blocks: [Place: (bytes: [UInt8], used: UInt64)] = [:]
        var sizeBytes = 0
        var clock: UInt64 = 0
    }

    private let capacityBytes: Int
    private let state = Mutex(State())

    /// - Parameter capacityBytes: what is kept at most; at least one block.
    package init(capacityBytes: Int) {
        self.capacityBytes = max(capacityBytes, Self.blockBytes)
    }

    /// How many bytes are kept at this moment.
    package var sizeBytes: Int { state.withLock { $0.sizeBytes } }

    func block(_ index: Int64, of object: Object) -> [UInt8]? {
        state.withLock { state in
            let place = Place(object: object, index: index)
            guard let bytes = state.blocks[place]?.bytes else { return nil }
            state.clock += 1
            state.blocks[place]?.used = state.clock
            return bytes
        }
    }

    func has(_ index: Int64, of object: Object) -> Bool {
        state.withLock { $0.blocks[Place(object: object, index: index)] != nil }
    }

    func keep(_ bytes: [UInt8], at index: Int64, of object: Object) {
        state.withLock { state in
            let place = Place(object: object, index: index)
            if let old = state.blocks.removeValue(forKey: place) {
                state.sizeBytes -= old.bytes.count
            }
            state.clock += 1
            state.blocks[place] = (bytes, state.clock)
            state.sizeBytes += bytes.count
            if state.sizeBytes > capacityBytes { makeRoom(in: &state) }
        }
    }

    /// Drops a quarter at once: to look for the oldest for each new block would cost more than the block.
    private func makeRoom(in state: inout State) {
        let byUse = state.blocks.sorted { $0.value.used < $1.value.used }
        for (place, block) in byUse {
            guard state.sizeBytes > capacityBytes / 4 * 3 else { return }
            state.blocks.removeValue(forKey: place)
            state.sizeBytes -= block.bytes.count
        }
    }
}
