import ObjectStore
import Terminal

/// Fetches one page of a collector over HTTP, on the calling thread.
enum HTTPFetch {
    /// Timeout; a server on the same network needs a hundredth of it.
    private static let patienceNanoseconds: Int64 = 5_000_000_000
    /// The status of thousands of sources.
    private static let maximumBytes = 8 << 20

    /// - Throws: ``Failure`` with one line.
    static func body(_ path: String, at address: HTTPAddress) throws -> [UInt8] {
        let url = "http://\(address)\(path)"
        do throws(TransportFailure) {
            let (status, body) = try PageFetch.exchange(
                url, maximumBytes: maximumBytes, deadlineNanoseconds: patienceNanoseconds)
            if status == 200 { return body }
            throw TransportFailure("status \(status)")
        } catch {
            throw Failure(
                "cannot read \(url): \(error); check that it is a collector's --http address")
        }
    }
}
