import Archive
import ObjectStore

/// Removes local copies that are proven to be in the store.
package struct LocalCopies {
    /// Result of a removal.
    package struct Outcome: Hashable, Sendable {
        package var segments = 0
        package var bytes: Int64 = 0
        /// Copies that stay, one line each.
        package var problems: [String] = []
        /// Why no further requests were sent; nil: the store has answered.
        package var failure: String?
    }

    private let place: UploadTarget

    package init(of place: UploadTarget) { self.place = place }

    /// Removes the copies of a session until a store error, which is in the outcome. Segments that are not in the store are kept,
    /// and so is a protected session.
    /// - Parameters:
    ///   - endedBefore: only segments that ended earlier, nanoseconds since 1970; nil: all.
    ///   - isDryRun: only reports what would be removed; the store is queried nevertheless.
    package func remove(
        _ session: String, endedBefore: Int64?, isDryRun: Bool
    ) throws(UploadError) -> Outcome {
        let layout = place.layout
        var outcome = Outcome()
        if SessionProtection.isProtected(session, in: layout) {
            outcome.problems.append("\(session) is protected: its local copies stay")
            return outcome
        }
        let sources = try place.disk { () throws(ArchiveError) in try layout.sourceNames(session) }
        for source in sources {
            let owner = SourceKey(session: session, source: source)
            let names = try place.disk { () throws(ArchiveError) in try layout.segmentNames(owner) }
            for name in names {
                guard let segment = SegmentKey(owner, fileName: name),
                    let stamp = FileStamp(layout.segment(segment)),
                    endedBefore.map({ stamp.modifiedNanoseconds < $0 }) ?? true,
                    FileSystem.exists(layout.path(of: segment, .proof))
                else { continue }
                do throws(UploadError) {
                    if let flaw = try StoredRemoval(in: place).recheck(segment) {
                        outcome.problems.append(
                            "\(layout.segment(segment)) stays: \(flaw); 'tributary store push' sends it again"
                        )
                        continue
                    }
                } catch {
                    switch error {
                    case .nothing: continue
                    case .store(let error):
                        outcome.failure = error.message
                        return outcome
                    case .archive, .stopped, .notEntitled, .changedMeanwhile, .setAside: throw error
                    }
                }
                let refusal = try place.disk { () throws(ArchiveError) in
                    isDryRun ? nil : try LocalCopyRemoval.remove(segment, in: layout)
                }
                switch refusal {
                case nil:
                    outcome.segments += 1
                    outcome.bytes += stamp.sizeBytes
                case .busy:
                    outcome.problems.append(
                        "\(session) is being retimed by another program: repeat this afterwards")
                    return outcome
                case .gone, .changed, .protected: break
                }
            }
        }
        return outcome
    }
}

extension UploadError {
    /// One line with the reason.
    package var line: String {
        switch self {
        case .store(let error): error.message
        case .archive(let error): "\(error)"
        case .stopped: "interrupted"
        case .notEntitled: "another program removes from the store"
        case .changedMeanwhile: "a file was changed by another program: repeat the command"
        case .nothing: "there is nothing to do"
        case .setAside(let message): message
        }
    }
}
