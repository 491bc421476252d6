/// Rate limits of one connection. A player sends a dozen requests, then one or two a minute, and receiver reports.
struct RequestBudget: Hashable, Sendable {
    private static let burstRequests: Int64 = 60
    private static let requestsPerSecond: Int64 = 10
    private static let burstBytes: Int64 = 512 << 10
    private static let bytesPerSecond: Int64 = 64 << 10
    private static let second: Int64 = 1_000_000_000

    /// Token buckets, in billionths of a request and of a byte.
    private var requests = burstRequests * second
    private var bytes = burstBytes * second
    private var refilled: Int64?

    /// - Parameter now: monotonic, nanoseconds.
    mutating func take(bytes count: Int, now: Int64) throws(RTSPServerError) {
        refill(now)
        bytes -= Int64(count) * Self.second
        if bytes < 0 { throw .tooFast("bytes") }
    }

    mutating func takeRequest() throws(RTSPServerError) {
        requests -= Self.second
        if requests < 0 { throw .tooFast("requests") }
    }

    private mutating func refill(_ now: Int64) {
        // 60 s fill both buckets; the limit prevents overflow.
        let passed = refilled.map { max(0, min(60 * Self.second, now - $0)) } ?? 0
        refilled = now
        requests = min(Self.burstRequests * Self.second, requests + passed * Self.requestsPerSecond)
        bytes = min(Self.burstBytes * Self.second, bytes + passed * Self.bytesPerSecond)
    }
}
