import Accounts
import Archive
import Containers
import ExportCore
import Terminal

/// A request for an export.
struct ExportRequest: Hashable, Sendable {
    enum Layout: String, Codable, Hashable, Sendable {
        /// One source, its samples byte for byte.
        case passthrough
        /// Several sources side by side, encoded.
        case grid
        /// A file for each source, in one ZIP archive if there are several.
        case files
    }

    var session: String
    /// Names of the sources; exactly one for passthrough.
    var sources: [String]
    /// Session time, nanoseconds; nil: the beginning.
    var fromNanoseconds: Int64?
    /// Nil: the end.
    var untilNanoseconds: Int64?
    var layout: Layout
    /// Container of each file.
    var format = ContainerFormat.mp4
    /// Pictures show their capture time, and are encoded again for that. A grid always does.
    var burnsTime = false

    /// The range in words; nil: everything.
    var rangeText: String? {
        let from = fromNanoseconds.map(TimelinePoint.text)
        let until = untilNanoseconds.map(TimelinePoint.text)
        return switch (from, until) {
        case (nil, nil): nil
        case (let from?, nil): "from \(from) on"
        case (nil, let until?): "before \(until)"
        case (let from?, let until?): "from \(from) to \(until)"
        }
    }

    /// Whether the result is a ZIP archive.
    var isArchive: Bool { layout == .files && sources.count > 1 }
}

/// An export, pending or done.
struct ExportJob: Sendable {
    enum State: String, Encodable, Sendable {
        case waiting, running, done, failed, cancelled
    }

    /// Random, so that it cannot be guessed.
    let id: String
    let request: ExportRequest
    /// The requesting account.
    let owner: Identity
    var state = State.waiting
    /// 0 … 1.
    var fraction = 0.0
    var sizeBytes: Int64 = 0
    /// The reason of its failure, one line.
    var failure: String?
    /// When it was created, or ended; monotonic, nanoseconds.
    var sinceNanoseconds: Int64

    var hasEnded: Bool {
        switch state {
        case .waiting, .running: false
        case .done, .failed, .cancelled: true
        }
    }

    /// Whether an account may view it, download its file and cancel it (``Rights/mayFollowJob(of:sources:as:)``).
    func isFor(_ identity: Identity, _ rights: Rights) -> Bool {
        rights.mayFollowJob(of: owner, sources: request.sources, as: identity)
    }

    /// The name to save it under.
    var fileName: String {
        let what =
            switch request.layout {
            case .passthrough, .files: ClipName.names(of: request.sources)
            case .grid: request.sources.count == 1 ? request.sources[0] : "grid"
            }
        return
            "\(ClipName(session: request.session, what: what, fromNanoseconds: request.fromNanoseconds, untilNanoseconds: request.untilNanoseconds, showsTime: request.burnsTime, ending: request.isArchive ? "zip" : request.format.suffix))"
    }

    /// The type of its file.
    var contentType: String { request.isArchive ? "application/zip" : request.format.mediaType }
}
