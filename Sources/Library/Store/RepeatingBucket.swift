import Media
import ObjectStore

/// A bucket whose reading operations are tried again, for a few seconds, while the store is busy or cannot be reached.
struct RepeatingBucket: Sendable {
    /// How long is waited before each further try, nanoseconds.
    private static let pauses: [Int64] = [200_000_000, 1_000_000_000, 3_000_000_000]

    let bucket: any ObjectBucket
    /// Waits so many nanoseconds.
    let pause: @Sendable (Int64) -> Void

    init(
        _ bucket: any ObjectBucket,
        pause: @escaping @Sendable (Int64) -> Void = { nanoseconds in
            SystemClock.sleep(
                untilMonotonicNanoseconds: SystemClock.monotonic.nowNanoseconds + nanoseconds)
        }
    ) {
        self.bucket = bucket
        self.pause = pause
    }

    func list(
        prefix: String, after: String?, folders: Bool
    ) throws(ObjectStoreError) -> ObjectPage {
        try repeated { bucket throws(ObjectStoreError) in
            try bucket.list(prefix: prefix, after: after, folders: folders)
        }
    }

    func properties(of key: String) throws(ObjectStoreError) -> ObjectProperties? {
        try repeated { bucket throws(ObjectStoreError) in try bucket.properties(of: key) }
    }

    func read(
        _ key: String, range: Range<Int64>, tag: String?
    ) throws(ObjectStoreError) -> [UInt8] {
        try repeated { bucket throws(ObjectStoreError) in
            try bucket.read(key, range: range, tag: tag)
        }
    }

    private func repeated<Value>(
        _ work: (any ObjectBucket) throws(ObjectStoreError) -> Value
    ) throws(ObjectStoreError) -> Value {
        for nanoseconds in Self.pauses {
            do throws(ObjectStoreError) {
                return try work(bucket)
            } catch {
                guard error.kind == .busy || error.kind == .unreachable else { throw error }
            }
            pause(nanoseconds)
        }
        return try work(bucket)
    }
}
