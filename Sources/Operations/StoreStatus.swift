/// The status of the upload of an archive into an object store.
package struct StoreStatus: Hashable, Sendable {
    /// `s3://BUCKET/PREFIX`.
    package var name: String
    /// Segments proven to be in the store since the start.
    package var storedSegments: UInt64 = 0
    /// Bytes sent since the start, retries included.
    package var sentBytes: UInt64 = 0
    /// Local copies removed since the start.
    package var evictedSegments: UInt64 = 0
    /// Failed requests and files since the start, by kind; kinds without a failure are 0.
    package var failures: [String: UInt64] = [:]
    /// Finished segments that wait for upload.
    package var waitingSegments: UInt64 = 0
    package var waitingBytes: UInt64 = 0
    /// Age of the oldest waiting segment since it ended, seconds; 0: none.
    package var oldestSeconds = 0.0
    /// Files that are not sent, because the store rejects them.
    package var setAside: UInt64 = 0
    /// Why the store cannot be used, one line; nil: it can.
    package var trouble: String?
    /// Whether this collector is the one that removes from the store; nil: no other one uses it.
    package var retention: LeaseStatus?

    package init(name: String) { self.name = name }

    /// Adds it to `/metrics`.
    func add(to text: inout MetricText) {
        text.single(
            "tributary_store_available", .gauge,
            "Whether the object store could be used the last time it was asked.",
            trouble == nil ? 1 : 0 as UInt64)
        text.single(
            "tributary_store_segments_total", .counter,
            "Segments proven to be in the object store.", storedSegments)
        text.single(
            "tributary_store_sent_bytes_total", .counter,
            "Bytes sent to the object store, repeated ones included.", sentBytes)
        text.single(
            "tributary_store_evicted_segments_total", .counter,
            "Local copies removed because the object store has them.", evictedSegments)
        let name = "tributary_store_failures_total"
        text.begin(name, .counter, "Failed requests to the object store and files, by kind.")
        for (kind, count) in failures.sorted(by: { $0.key < $1.key }) {
            text.add(name, [("kind", kind)], count)
        }
        text.single(
            "tributary_store_waiting_segments", .gauge,
            "Finished segments that are not yet in the object store; at most 4,096 are counted.",
            waitingSegments)
        text.single(
            "tributary_store_waiting_bytes", .gauge, "Size of these segments.", waitingBytes)
        text.single(
            "tributary_store_oldest_waiting_seconds", .gauge,
            "Age of the oldest finished segment that is not yet in the object store; 0 without one.",
            oldestSeconds)
        text.single(
            "tributary_store_set_aside_files", .gauge,
            "Files that the object store refuses; they are tried again every hour.", setAside)
        guard let retention else { return }
        let lease = "tributary_store_retention_lease"
        text.begin(
            lease, .gauge,
            "1 for the state of the lease on removing from the object store, which one collector of a site has."
        )
        for state in [LeaseStatus.State.held, .settling, .taken, .unknown] {
            text.add(lease, [("state", state.rawValue)], retention.state == state ? 1 : 0 as UInt64)
        }
    }
}
