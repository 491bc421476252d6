package import Archive
import Catalog
import Media
import Recordings

/// Changes of sessions by users: labels, protection, removal.
extension RecordingLibrary {
    /// Writes the name, tags and note of a session, also into the catalog.
    package func setLabels(_ labels: SessionNotes, of session: String) throws(ArchiveError) {
        let file = StoredPath.session(session) / SessionNotes.fileName
        if labels == SessionNotes() {
            try store.delete(file)
        } else {
            try store.put(labels.encoded(), at: file)
        }
        try tellCatalog { () throws(ArchiveError) in
            try CatalogIndexing.noteLabels(of: session, layout, in: catalog)
        }
    }

    /// Writes the marks of a session. The catalog does not have them.
    func setMarks(_ marks: SessionMarks, of session: String) throws(ArchiveError) {
        let file = StoredPath.session(session) / SessionMarks.fileName
        if marks.marks.isEmpty {
            try store.delete(file)
        } else {
            try store.put(marks.encoded(), at: file)
        }
    }

    /// Protects a session from retention and removal, or ends its protection.
    package func setProtected(_ isProtected: Bool, _ session: String) throws(ArchiveError) {
        let file = StoredPath.session(session) / ArchiveLayout.protectionName
        if isProtected {
            try store.put([], at: file)
        } else {
            try store.delete(file)
        }
        try tellCatalog { () throws(ArchiveError) in
            try CatalogIndexing.noteLabels(of: session, layout, in: catalog)
        }
    }

    /// Checks that a session may be removed.
    /// - Returns: the bytes of media that this would free.
    package func checkRemovable(_ session: String) throws -> Int64 {
        if isProtected(session) { throw LibraryError.protected(session) }
        guard try manifest(session).state == .finished else {
            throw LibraryError.unfinished(session)
        }
        var bytes: Int64 = 0
        for source in try sourceNames(session) {
            for file in try segments(SourceKey(session: session, source: source)) {
                bytes = bytes.clampedAdding(file.sizeBytes)
            }
        }
        return bytes
    }

    /// Removes a session, also from the catalog. It is renamed before its files are deleted, so that a crash leaves no part of a
    /// session; the collector completes the removal.
    /// - Throws: where ``checkRemovable(_:)`` does.
    package func remove(_ session: String) throws {
        _ = try checkRemovable(session)
        try SessionRemoval.remove(session, from: layout)
        try refreshCatalog(session)
    }

    /// Reads a finished session into the catalog again, or removes it there if it is gone.
    package func refreshCatalog(_ session: String) throws(ArchiveError) {
        try tellCatalog { () throws(ArchiveError) in
            try CatalogIndexing.refresh(session, layout, in: catalog)
        }
    }

    /// Changes the catalog, after the files. The change has been made even if the catalog cannot be changed: a running
    /// collector reads the session again, and so does `tributary index`.
    private func tellCatalog(
        _ change: () throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        let place = catalog.place(layout)
        let advice = "'tributary index --catalog …' brings the catalog up to date"
        do throws(ArchiveError) {
            try change()
        } catch {
            if error.isForContent, place.isCause(of: error) {
                complain("\(error); 'tributary index' rebuilds it")
                return
            }
            guard error.isForServer else {
                complain(
                    "\(error); once that is mended, 'tributary index' brings the catalog up to date"
                )
                return
            }
            if try !isCollectorRunning() { complain("\(error); \(advice)") }
            return
        }
        if try place.isElsewhere(), try !isCollectorRunning() {
            complain("the catalog of \(name) is on a server that was not named: \(advice)")
        }
    }
}
