package import ObjectStore
import Synchronization

/// Completed and pending work of an uploader, for monitoring.
package struct UploadStatus: Hashable, Sendable {
    /// Kinds of failures, by their names in metrics.
    package static let kinds = [
        "unreachable", "busy", "denied", "clock", "no_bucket", "full", "digest", "refused", "other",
        "disk",
    ]

    /// Segments that were proven since the start.
    package var segments: UInt64 = 0
    /// Bytes that were sent since the start, repeated ones included.
    package var sentBytes: UInt64 = 0
    /// Local copies that were removed since the start.
    package var evicted: UInt64 = 0
    /// Failed requests and files, by ``kinds``.
    package var failures: [String: UInt64] = [:]
    /// Segments that wait. At most as many as the queue holds: the archive may have more.
    package var waiting: UInt64 = 0
    package var waitingBytes: UInt64 = 0
    /// Age of the oldest segment that waits, since it ended, seconds; 0: none.
    package var oldestSeconds = 0.0
    /// Files that are not tried again for now.
    package var setAside: UInt64 = 0
    /// Why the store cannot be used at present, one line; nil: it can, as far as is known.
    package var trouble: String?

    package init() {}
}

/// Counters that the uploading threads share.
package final class UploadFigures: Sendable {
    private let status = Mutex(UploadStatus())
    private let answerCount = Atomic<Int>(0)

    package init() {}

    /// Number of responses from the store, including errors.
    var answers: Int { answerCount.load(ordering: .relaxed) }

    func addAnswer() { answerCount.add(1, ordering: .relaxed) }

    package var current: UploadStatus { status.withLock { $0 } }

    func add(bytes: Int) { status.withLock { $0.sentBytes += UInt64(bytes) } }

    func addSegment() { status.withLock { $0.segments += 1 } }

    func addEviction() { status.withLock { $0.evicted += 1 } }

    func addFailure(_ kind: String) { status.withLock { $0.failures[kind, default: 0] += 1 } }

    func update(_ change: (inout UploadStatus) -> Void) { status.withLock { change(&$0) } }
}

extension ObjectStoreError.Kind {
    /// Its name in metrics.
    var name: String {
        switch self {
        case .unreachable: "unreachable"
        case .busy: "busy"
        case .denied: "denied"
        case .clock: "clock"
        case .noBucket: "no_bucket"
        case .full: "full"
        case .digest: "digest"
        case .refused: "refused"
        case .gone, .exists, .changed, .stopped: "other"
        }
    }

    /// Whether it affects the whole store, not one file. If so, all uploads wait.
    package var isForStore: Bool {
        switch self {
        case .unreachable, .busy, .denied, .clock, .noBucket, .full: true
        case .gone, .exists, .changed, .digest, .refused, .stopped: false
        }
    }

    /// Whether an outage of this kind may pass by itself within seconds.
    var mayPass: Bool {
        switch self {
        case .unreachable, .busy: true
        case .denied, .clock, .noBucket, .full, .gone, .exists, .changed, .digest, .refused,
            .stopped:
            false
        }
    }
}
