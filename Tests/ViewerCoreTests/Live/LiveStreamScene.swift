import HTTPTypes
import Media
import Synchronization
import Testing

@testable import ViewerCore

extension LiveStream {
    /// The playlist; waits without limit, since its clock stands still.
    func listed(_ request: LiveRequest = LiveRequest()) async throws -> String {
        let start = SystemClock.monotonic.nowNanoseconds
        return try await text(request, now: { start })
    }

    /// The playlist once it has a part, as requested by players of LL-HLS, which need no whole segment.
    func listed(part uri: String) async throws -> String {
        let sequence = try #require(uri.split(separator: ".").first.flatMap { UInt64($0) })
        while true {
            do {
                let text = try await listed(LiveRequest(sequence: sequence, part: 0))
                if text.hasPart(uri) { return text }
            } catch let problem as Problem where problem.status == .badRequest {
                // Its segment is still too far ahead for a request.
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    /// The bytes of a resource; nil: it is not there.
    func bytes(_ resource: LiveResource) async -> [UInt8]? {
        let start = SystemClock.monotonic.nowNanoseconds
        switch await media(resource, now: { start }) {
        case .bytes(let bytes): return bytes
        case .gone: return nil
        }
    }

    func part(_ sequence: UInt64, _ part: Int) async -> [UInt8]? {
        await bytes(.part(PartAddress(sequence: sequence, part: part)))
    }

    /// The bytes of a resource that must exist.
    func present(_ resource: LiveResource) async throws -> [UInt8] {
        let found = await bytes(resource)
        return try #require(found, "\(resource)")
    }

    /// The bytes of a part that must exist.
    func present(_ sequence: UInt64, _ part: Int) async throws -> [UInt8] {
        try await present(.part(PartAddress(sequence: sequence, part: part)))
    }

    /// The status that a request is refused with; nil: it is not.
    func refusal(_ request: LiveRequest) async throws -> Int? {
        do {
            _ = try await listed(request)
            return nil
        } catch let problem as Problem {
            return problem.status.code
        }
    }
}

extension String {
    /// Whether a playlist lists a part, and not only hints at it.
    func hasPart(_ uri: String) -> Bool {
        split(separator: "\n").contains {
            $0.hasPrefix("#EXT-X-PART:") && $0.contains("URI=\"\(uri)\"")
        }
    }
}

extension LiveHub {
    /// Waits for a number of watchers.
    func reaches(watchers: Int) async throws {
        while watcherCount != watchers { try await Task.sleep(for: .milliseconds(1)) }
    }
}

/// A clock advanced by tests.
final class HandClock: Sendable {
    private let state = Mutex(SystemClock.monotonic.nowNanoseconds)

    var now: Int64 { state.withLock { $0 } }

    func goOn(seconds: Int64) { state.withLock { $0 += seconds * 1_000_000_000 } }
}
