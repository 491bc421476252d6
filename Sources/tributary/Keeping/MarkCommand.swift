import Archive
import ArgumentParser
import Catalog
import JSON
import Library
import Media
import ObjectStore
import Recordings
import Terminal

/// `tributary mark`: bookmarked instants of a session.
struct MarkCommand: RepeatingCommand {
    static let repeatableOptions: Set = ["archive"]

    static let configuration = CommandConfiguration(
        commandName: "mark",
        abstract: "Marks an instant of a session; without text, lists the marks.",
        discussion: """
            A mark has a time, a line of text, and an ID by which it is removed. The viewer's page shows marks on the timeline and \
            goes from one to the next. Without --at, the mark is at the present instant of a session that is being recorded.

            --archive is repeatable to list the marks of several archives, and given once to set or remove one.

            With --catalog \(CatalogReference.serverForm) and without --archive, the mark is set in every archive of the site that has the session: \
            in directories of this machine, and with --site-token-file by the collectors behind their viewers (--group-commands).
            """)

    @OptionGroup var archive: ChangedArchiveOptions

    @Argument(help: "A session (its ID, or a name or tag set by 'note'), or 'latest'.")
    var session: String

    @Argument(help: "What to say of the instant: one line.")
    var text: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The instant: session time (1:23.5, 90s) or UTC. (default: now)", valueName: "time"))
    var at: TimelinePoint?

    @Option(help: ArgumentHelp("The source that the mark is about. (default: all)"))
    var source: String?

    @Option(help: ArgumentHelp("Remove the mark with this ID. Repeatable.", valueName: "id"))
    var remove: [String] = []

    @Flag(help: "Print JSON.")
    var json = false

    private var isReading: Bool { text == nil && remove.isEmpty }

    func validate() throws {
        if !isReading { try archive.validateForChange() }
        if text == nil, at != nil || source != nil {
            throw ValidationError(
                "--at and --source need a text: tributary mark SESSION 'TEXT' --at 1:23.5")
        }
        if let source, !ArchiveLayout.isValidName(source) {
            throw ValidationError("--source '\(oneLine(source))' is not the name of a source")
        }
        if let text {
            let mark = SessionMarks.Mark(
                id: SessionMarks.Mark.newIdentity(), atNanoseconds: 0, text: text)
            do throws(SessionEdit.Flaw) {
                _ = try SessionEdit(addedMarks: [mark])
            } catch {
                throw ValidationError("\(error)")
            }
        }
        if let id = remove.first(where: { !SessionMarks.Mark.isIdentity($0) }) {
            throw ValidationError(
                "--remove '\(oneLine(String(id.prefix(80))))' is not a mark's ID: 'tributary mark SESSION' lists them"
            )
        }
    }

    func run() throws {
        try withArchiveErrors {
            let site = try archive.reachedSite()
            let finder = site?.finder ?? archive.finder
            let place = try finder.session(named: session)
            let (library, name) = (place.library, place.name)
            let manifest = try library.manifest(name)
            let before = library.marks(name)
            if let id = remove.first(where: { id in !before.marks.contains { $0.id == id } }) {
                throw Failure("\(name) has no mark \(id): 'tributary mark \(name)' lists them")
            }
            let mark = try mark(in: library, name, manifest)
            let marks: [SessionMarks.Mark]
            if let site {
                marks = try change(before, site, place, mark).marks
            } else if isReading {
                marks = before.marks
            } else {
                try change(library, name, mark)
                marks = library.marks(name).marks
            }
            if json {
                try JSONOutput.print(marks.map { MarkListing($0, zero: manifest.zeroTime) })
            } else {
                show(marks)
                if let instant = mark?.atNanoseconds,
                    let note = Self.note(on: instant, in: library, name, manifest)
                {
                    print("  note: \(note)")
                }
            }
            if isReading { try finder.checkComplete() }
        }
    }

    /// A note about an instant outside the session; nil inside it, and while it is recorded.
    private static func note(
        on instant: Int64, in library: RecordingLibrary, _ session: String,
        _ manifest: SessionManifest
    ) -> String? {
        guard manifest.state == .finished else { return nil }
        let extents: [RecordedExtent]
        do {
            extents = try library.recording(session).sources.compactMap { try $0.extent() }
        } catch {
            // The mark is saved; `verify` reports unreadable files.
            return nil
        }
        guard let start = extents.map(\.startNanoseconds).min(),
            let end = extents.map(\.endNanoseconds).max()
        else { return nil }
        let text = TimelinePoint.text
        if instant > end {
            return "\(text(instant)) is after the end of the session (\(text(end)))"
        }
        if instant < min(0, start) {
            return "\(text(instant)) is before the start of the session (\(text(min(0, start))))"
        }
        return nil
    }

    private func show(_ marks: [SessionMarks.Mark]) {
        for mark in marks {
            let time = TimelinePoint.text(mark.atNanoseconds)
            let source = mark.source.map { "  [\($0)]" } ?? ""
            print("\(mark.id)  \(time)\(source)  \(oneLine(mark.text))")
        }
    }

    /// In the archive's directory.
    private func change(
        _ library: RecordingLibrary, _ session: String, _ mark: ViewerMark?
    ) throws {
        var added: [SessionMarks.Mark] = []
        if let mark {
            guard let moment = try mark.atNanoseconds ?? library.presentInstant(of: session) else {
                throw UsageError("\(session) is not being recorded: say when, with --at 1:23.5")
            }
            added = [
                SessionMarks.Mark(
                    id: mark.id, atNanoseconds: moment, text: mark.text, source: mark.source)
            ]
        }
        let edit: SessionEdit
        do throws(SessionEdit.Flaw) {
            edit = try SessionEdit(addedMarks: added, removedMarks: remove)
        } catch {
            throw UsageError("\(error)")
        }
        if try library.apply(edit, to: session).hasChanged {
            CollectorControl.tellChange(of: session, in: library.layout)
        }
    }

    /// In all archives of a site that have the session.
    /// - Returns: the marks after the change. Other machines are not asked for them again.
    private func change(
        _ before: SessionMarks, _ site: ChangedArchiveOptions.Site, _ place: FoundSession,
        _ mark: ViewerMark?
    ) throws -> SessionMarks {
        guard mark != nil || !remove.isEmpty else { return before }
        let changes = try SiteChanges(
            site.archives, site: site.access, shutdown: LongWork.end,
            apply: { edit, session, layout in
                let library = try RecordingLibrary(layout.root) { Program.complain($0) }
                if try library.apply(edit, to: session).hasChanged {
                    CollectorControl.tellChange(of: session, in: layout)
                }
            }, complain: { Program.complain($0) })
        var added: [SessionMarks.Mark] = []
        if let mark {
            let made = try changes.set(mark, of: place.name)
            added =
                made.atNanoseconds.map {
                    [
                        SessionMarks.Mark(
                            id: made.id, atNanoseconds: $0, text: made.text, source: made.source)
                    ]
                } ?? []
        }
        if !remove.isEmpty {
            let copies = try place.library.merged?.session(place.name).copies ?? []
            let edit: SessionEdit
            do throws(SessionEdit.Flaw) {
                edit = try SessionEdit(removedMarks: remove)
            } catch {
                throw UsageError("\(error)")
            }
            try changes.change(edit, of: Set(copies.map(\.manifest.session) + [place.name]))
        }
        return before.changed(adding: added, removing: remove)
    }

    /// The mark to add, without a time if it is the present instant; nil without one.
    private func mark(
        in library: RecordingLibrary, _ session: String, _ manifest: SessionManifest
    ) throws -> ViewerMark? {
        guard let text else { return nil }
        if let source, try !library.sourceNames(session).contains(source) {
            throw Failure(
                "\(session) has no source '\(source)': 'tributary show \(session)' lists them")
        }
        return ViewerMark(
            id: SessionMarks.Mark.newIdentity(),
            atNanoseconds: at?.sessionNanoseconds(
                zeroUTCNanoseconds: manifest.zeroTime.nanoseconds),
            text: text, source: source)
    }
}
