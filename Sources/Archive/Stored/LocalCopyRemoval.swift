/// Removes a segment's media from the local disk, if an object store is proven to have it. The proof stays.
package enum LocalCopyRemoval {
    /// Why a copy was not removed.
    package enum Refusal: Hashable, Sendable {
        /// There is no copy, or no longer a proof.
        case gone
        /// The file differs from the proven one: it was retimed, or replaced. It has to be uploaded again.
        case changed
        case protected
        /// Another program is retiming the session.
        case busy
    }

    /// Removes a copy, if the proof beside it matches exactly this file. Confirm directly before that the store still
    /// has it.
    ///
    /// The proof is durable, so one system call suffices: before it there is the file, afterwards the proof.
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
            // Only the lock has such an error.
            guard case .malformed = error else { throw error }
            return .busy
        }
    }

    /// - Parameter lock: prevents retiming of the file meanwhile.
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
