package import Archive
package import Recordings

/// One archive's part of a session that several archives have.
package struct SessionCopy: Sendable {
    /// The collector's name, or the archive's place.
    package var archive: String
    /// The archive's directory or address.
    package var place: String
    /// The session's name in that archive: an attached part has a name of its own.
    package var session: String
    /// Layout of its directory; nil: its media is not in a directory.
    package var layout: ArchiveLayout?
    package var zero: UTCTime
    /// From its session times to those of the first archive.
    package var shift: SessionShift
}

extension RecordingLibrary {
    /// The parts of a session; nil: one archive is read, or has it alone.
    package func copies(of session: String) throws(ArchiveError) -> [SessionCopy]? {
        guard let merged else { return nil }
        let copies = try merged.session(session).copies
        guard copies.count > 1 else { return nil }
        return copies.map { copy in
            let member = merged.members[copy.member]
            return SessionCopy(
                archive: copy.archive, place: member.name, session: copy.manifest.session,
                layout: member.store is DirectoryStore ? member.layout : nil,
                zero: copy.manifest.zeroTime, shift: copy.shift)
        }
    }
}
