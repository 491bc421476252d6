/// Removes a segment's media from the local disk, where an object store is proven to have it. The proof stays.
package enum LocalCopyRemoval {
    /// Why a copy stays.
    package enum Refusal: Hashable, Sendable {
        /// There is no copy, or no proof of it any more.
        case gone
        /// The file is not the one that was proven: it was retimed, or replaced. It has to go up again.
        case changed
        case protected
        /// Another program is retiming the session.
        case busy
    }

    /// Removes a copy, if the proof beside it is about exactly this file. Whether the store still has it is to be asked directly before.
    ///
    /// The proof is durable, so one system call suffices: before it the file is there, afterwards the proof stands for it.
    /// - Returns: nil: it was removed.
    package static func remove(
        _ segment: SegmentKey, in layout: ArchiveLayout
    ) throws(ArchiveError) -> Refusal? {
        let path = layout.segment(segment)
        guard FileSystem.exists(path), let proof = try SegmentProof.read(segment, in: layout) else {
            return .gone
        }
        do throws(ArchiveError) {
            let lock = try DirectoryLock(layout.session(segment.session), busy: "busy")
            return try remove(path, proof, segment, layout, lock)
        } catch {
            // Nothing but the lock has such an error.
            guard case .malformed = error else { throw error }
            return .busy
        }
    }

    /// - Parameter lock: keeps the file from being retimed meanwhile.
    private static func remove(
        _ path: String, _ proof: SegmentProof, _ segment: SegmentKey, _ layout: ArchiveLayout,
        _ lock: borrowing DirectoryLock
    ) throws(ArchiveError) -> Refusal? {
        guard let stamp = FileStamp(path) else { return .gone }
        guard proof.describes(stamp) else { return .changed }
        if SessionProtection.isProtected(segment.session, in: layout) { return .protected }
        try FileSystem.remove(path, on: layout.disk)
        return nil
    }
}
