import Archive
import Library
import Recordings
import Terminal

/// Finds media of a session that a command cannot read, because the archive has only its proofs.
struct AbsentMediaCheck {
    private let finder: SessionFinder
    private let session: RecordedSession
    private let absent: [AbsentMedia]
    /// Whether the command reads an object store.
    private let readsStore: Bool

    /// - Parameter inputs: by which the session was found.
    init(_ finder: SessionFinder, _ inputs: [String], _ session: RecordedSession) throws {
        self.finder = finder
        self.session = session
        guard inputs.count == 1, case .session(let found) = try finder.subject(inputs[0]) else {
            // Loose files have no proofs.
            absent = []
            readsStore = false
            return
        }
        absent = try found.library.absentMedia(of: found.name)
        readsStore = found.library.hasBucket
    }

    /// Prints a line for each source with absent media in a range, which the finder then counts as left out.
    /// - Parameters:
    ///   - sources: the requested ones; empty: not stated.
    ///   - from, until: session time, nanoseconds; nil: the beginning, or the end.
    /// - Throws: if a requested source, or the only one, is entirely in an object store that is not read.
    func run(sources: [String], from: Int64?, until: Int64?) throws {
        let wanted = absent.filter {
            (sources.isEmpty || sources.contains($0.segment.source))
                && $0.mayOverlap(from: from, until: until)
        }
        let bySource = Dictionary(grouping: wanted, by: \.segment.source)
        for (source, media) in bySource.sorted(by: { $0.key < $1.key }) {
            let stores = Set(media.map(\.store)).sorted().joined(separator: ", ")
            let isNeeded = sources.contains(source) || session.mainSources.isEmpty
            if !readsStore, session.source(source) == nil, isNeeded {
                throw Failure("the media of \(source) is in \(stores): add --store \(stores)")
            }
            let isOne = media.count == 1
            let segments = isOne ? "1 segment" : "\(media.count) segments"
            let are = isOne ? "is" : "are"
            Program.complain(
                readsStore
                    ? "\(segments) of \(source) cannot be found, and \(are) left out: \(stores) had \(isOne ? "it" : "them") (\(isOne ? "" : "the first is ")\(media[0].segment.fileName))"
                    : "\(segments) of \(source) \(are) in \(stores), and \(are) left out: add --store \(stores)"
            )
            finder.noteOmission()
        }
    }
}
