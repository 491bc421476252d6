import Archive
import Synchronization

/// Keeps small pictures: a timeline asks for the same ones again and again.
final class PictureCache: Sendable {
    /// All pictures together.
    private static let capacityBytes = 64 << 20

    struct Key: Hashable, Sendable {
        var session: String
        var source: String
        /// Of the file that the instant is in.
        var revision: UInt32
        var atNanoseconds: Int64
        var width: Int
    }

    struct Picture: Sendable {
        var bytes: [UInt8]
        /// When it was captured, session time.
        var atNanoseconds: Int64
    }

    private struct State {
        var entries: [Key: (picture: Picture, used: UInt64)] = [:]
        var bytes = 0
        var clock: UInt64 = 0
    }

    private let state = Mutex(State())

    func picture(_ key: Key) -> Picture? {
        state.withLock { state in
            state.clock += 1
            state.entries[key]?.used = state.clock
            return state.entries[key]?.picture
        }
    }

    func keep(_ picture: Picture, for key: Key) {
        state.withLock { state in
            guard state.entries[key] == nil, picture.bytes.count < Self.capacityBytes / 8 else {
                return
            }
            state.entries[key] = (picture, state.clock)
            state.bytes += picture.bytes.count
            guard state.bytes > Self.capacityBytes else { return }
            // The older half goes at once, so that keeping one costs nothing on average.
            for (key, entry) in state.entries.sorted(by: { $0.value.used < $1.value.used }) {
                guard state.bytes > Self.capacityBytes / 2 else { break }
                state.bytes -= entry.picture.bytes.count
                state.entries.removeValue(forKey: key)
            }
        }
    }
}
