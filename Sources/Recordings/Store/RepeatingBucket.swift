import Media
import ObjectStore
import Synchronization

/// A bucket that retries read operations for a few seconds while the store is busy or unreachable. After that, the store is not
/// queried for a while (``StoreAvailability``).
final class RepeatingBucket: Sendable {
    /// Delays before retries, nanoseconds.
    private static let pauses: [Int64] = [200_000_000, 1_000_000_000, 3_000_000_000]
    /// Maximum duration of an attempt that is retried.
    private static let quickNanoseconds: Int64 = 3_000_000_000

    let bucket: any ReadableBucket
    /// Sleeps, nanoseconds.
    private let pause: @Sendable (Int64) -> Void
    private let monotonicNow: @Sendable () -> Int64
    private let availability = Mutex(StoreAvailability())

    /// - Parameter monotonicNow: monotonic clock, nanoseconds.
    init(
        _ bucket: any ReadableBucket,
        monotonicNow: @escaping @Sendable () -> Int64 = { SystemClock.monotonic.nowNanoseconds },
        pause: @escaping @Sendable (Int64) -> Void = { nanoseconds in
            SystemClock.sleep(
                untilMonotonicNanoseconds: SystemClock.monotonic.nowNanoseconds + nanoseconds)
        }
    ) {
        self.bucket = bucket
        self.monotonicNow = monotonicNow
        self.pause = pause
    }

    func list(
        prefix: String, after: String?, folders: Bool
    ) throws(ObjectStoreError) -> ObjectPage {
        try asked { bucket throws(ObjectStoreError) in
            try bucket.list(prefix: prefix, after: after, folders: folders)
        }
    }

    func properties(of key: String) throws(ObjectStoreError) -> ObjectProperties? {
        try asked { bucket throws(ObjectStoreError) in try bucket.properties(of: key) }
    }

    func read(
        _ key: String, range: Range<Int64>, tag: String?
    ) throws(ObjectStoreError) -> [UInt8] {
        try asked { bucket throws(ObjectStoreError) in
            try bucket.read(key, range: range, tag: tag)
        }
    }

    private func asked<Value>(
        _ work: (any ReadableBucket) throws(ObjectStoreError) -> Value
    ) throws(ObjectStoreError) -> Value {
        if let error = availability.withLock({ $0.refusal(nowNanoseconds: monotonicNow()) }) {
            throw error
        }
        do throws(ObjectStoreError) {
            let value = try repeated(work)
            availability.withLock { $0.answered() }
            return value
        } catch {
            availability.withLock { $0.failed(error, nowNanoseconds: monotonicNow()) }
            throw error
        }
    }

    private func repeated<Value>(
        _ work: (any ReadableBucket) throws(ObjectStoreError) -> Value
    ) throws(ObjectStoreError) -> Value {
        for nanoseconds in Self.pauses {
            let began = monotonicNow()
            do throws(ObjectStoreError) {
                return try work(bucket)
            } catch {
                guard error.kind == .busy || error.kind == .unreachable,
                    monotonicNow() - began < Self.quickNanoseconds
                else { throw error }
            }
            pause(nanoseconds)
        }
        return try work(bucket)
    }
}
