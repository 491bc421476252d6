import Synchronization

/// LRU cache of blocks of stored objects, bounded in bytes. Any thread may use it.
package final class BlockCache: Sendable {
    /// Larger blocks would fetch too much for single `moof` boxes and short clips; smaller ones would need more requests.
    package static let blockBytes = 64 << 10

    /// A version of an object: key and ETag.
    struct Object: Hashable {
        var key: String
        var tag: String
    }

    private struct Key: Hashable {
        var object: Object
        var index: Int64
    }

    private struct State {
        var blocks: [Key: (bytes: [UInt8], used: UInt64)] = [:]
        var sizeBytes = 0
        var clock: UInt64 = 0
    }

    private let capacityBytes: Int
    private let state = Mutex(State())

    /// - Parameter capacityBytes: at least one block.
    package init(capacityBytes: Int) {
        self.capacityBytes = max(capacityBytes, Self.blockBytes)
    }

    /// Bytes in the cache.
    package var sizeBytes: Int { state.withLock { $0.sizeBytes } }

    func block(_ index: Int64, of object: Object) -> [UInt8]? {
        state.withLock { state in
            let place = Key(object: object, index: index)
            guard let bytes = state.blocks[place]?.bytes else { return nil }
            state.clock += 1
            state.blocks[place]?.used = state.clock
            return bytes
        }
    }

    func has(_ index: Int64, of object: Object) -> Bool {
        state.withLock { $0.blocks[Key(object: object, index: index)] != nil }
    }

    func keep(_ bytes: [UInt8], at index: Int64, of object: Object) {
        state.withLock { state in
            let place = Key(object: object, index: index)
            if let old = state.blocks.removeValue(forKey: place) {
                state.sizeBytes -= old.bytes.count
            }
            state.clock += 1
            state.blocks[place] = (bytes, state.clock)
            state.sizeBytes += bytes.count
            if state.sizeBytes > capacityBytes { makeRoom(in: &state) }
        }
    }

    /// Evicts a quarter at once, so that the search for the least recently used blocks is amortised.
    private func makeRoom(in state: inout State) {
        let byUse = state.blocks.sorted { $0.value.used < $1.value.used }
        for (place, block) in byUse {
            guard state.sizeBytes > capacityBytes / 4 * 3 else { return }
            state.blocks.removeValue(forKey: place)
            state.sizeBytes -= block.bytes.count
        }
    }
}
