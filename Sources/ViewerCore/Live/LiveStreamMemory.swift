import Synchronization

/// Limits the bytes that all live streams keep for players. Any thread may call.
///
/// A stream keeps 44 s of media of any size. Beyond the limit, the least recently requested stream ends; a new one starts only if
/// there is space.
final class LiveStreamMemory: Sendable {
    /// 45 sources of 4 Mbit/s.
    static let maximumBytes = 1 << 30
    /// Expected size of a new stream: 44 s at 6 Mbit/s.
    private static let usualBytes = 32 << 20

    private struct Entry {
        var bytes = 0
        /// Monotonic, nanoseconds.
        var asked: Int64 = .max
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var bytes = 0
        var next = 0
    }

    private let state = Mutex(State())
    private let maximumBytes: Int

    init(maximumBytes: Int = LiveStreamMemory.maximumBytes) { self.maximumBytes = maximumBytes }

    /// The memory of one stream, while this object exists.
    final class Share: Sendable {
        private let memory: LiveStreamMemory
        private let number: Int

        fileprivate init(_ memory: LiveStreamMemory, _ number: Int) {
            self.memory = memory
            self.number = number
        }

        deinit { memory.leave(number) }

        /// Reports the bytes that the stream keeps.
        /// - Parameter asked: time of its last request, monotonic, nanoseconds.
        /// - Returns: false if there is no space; the stream then counts as empty.
        func keeps(_ bytes: Int, asked: Int64) -> Bool {
            memory.keep(bytes, asked: asked, number)
        }
    }

    /// Whether another stream can begin.
    var hasRoom: Bool {
        let usual = min(Self.usualBytes, maximumBytes / 4)
        return state.withLock { $0.bytes <= maximumBytes - usual }
    }

    var keptBytes: Int { state.withLock { $0.bytes } }

    func place() -> Share {
        let number = state.withLock { state in
            state.next += 1
            state.entries[state.next] = Entry()
            return state.next
        }
        return Share(self, number)
    }

    private func keep(_ bytes: Int, asked: Int64, _ number: Int) -> Bool {
        state.withLock { state in
            state.bytes += bytes - (state.entries[number]?.bytes ?? 0)
            state.entries[number] = Entry(bytes: bytes, asked: asked)
            guard state.bytes > maximumBytes else { return true }
            let isOldest = !state.entries.contains { other, entry in
                entry.bytes > 0 && (entry.asked, other) < (asked, number)
            }
            guard isOldest else { return true }
            state.bytes -= bytes
            state.entries[number] = Entry()
            return false
        }
    }

    private func leave(_ number: Int) {
        state.withLock { state in
            if let entry = state.entries.removeValue(forKey: number) { state.bytes -= entry.bytes }
        }
    }
}
