import Synchronization

/// A limit of bytes per second. A value without a clock.
struct RateLimit: Hashable, Sendable {
    /// Nil: no limit.
    let bytesPerSecond: Int64?
    /// When everything that was claimed may have been sent.
    private var freeAt: Int64 = .min

    init(bytesPerSecond: Int64?) { self.bytesPerSecond = bytesPerSecond }

    /// Claims bytes, after those that were claimed before.
    /// - Returns: the wait before they may be sent, nanoseconds.
    mutating func claim(_ bytes: Int, now: Int64) -> Int64 {
        guard let bytesPerSecond, bytesPerSecond > 0 else { return 0 }
        let begin = max(freeAt, now)
        let seconds = Double(bytes) / Double(bytesPerSecond)
        freeAt = begin + Int64(min(seconds * 1e9, 1e15))
        return begin - now
    }
}

/// A limit that several threads keep together.
final class SharedRateLimit: Sendable {
    private let limit: Mutex<RateLimit>

    init(bytesPerSecond: Int64?) { limit = Mutex(RateLimit(bytesPerSecond: bytesPerSecond)) }

    func claim(_ bytes: Int, now: Int64) -> Int64 {
        limit.withLock { $0.claim(bytes, now: now) }
    }
}
