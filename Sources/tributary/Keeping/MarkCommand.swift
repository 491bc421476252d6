import Archive
import ArgumentParser
import JSON
import Library
import Media
import Recordings
import Terminal

/// `tributary mark`: bookmarked instants of a session.
struct MarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mark",
        abstract: "Marks an instant of a session; without text, lists the marks.",
        discussion: """
            A mark has a time, a line of text, and an ID by which it is removed. The viewer's page shows marks on the timeline and \
            goes from one to the next. Without --at, the mark is at the present instant of a session that is being recorded.
            """)

    @OptionGroup var archive: DirectoryOptions

    @Argument(help: "A session (its ID, or a name or tag set by 'note'), or 'latest'.")
    var session: String

    @Argument(help: "What to say of the instant: one line.")
    var text: String?

    @Option(
        help: ArgumentHelp(
            "The instant: session time (1:23.5, 90s) or UTC. (default: now)", valueName: "time"))
    var at: TimelinePoint?

    @Option(help: ArgumentHelp("The source that the mark is about. (default: all)"))
    var source: String?

    @Option(help: ArgumentHelp("Remove the mark with this ID. Repeatable.", valueName: "id"))
    var remove: [String] = []

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
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
            let place = try archive.finder.session(named: session)
            let (library, name) = (place.library, place.name)
            let manifest = try library.manifest(name)
            let before = library.marks(name)
            if let id = remove.first(where: { id in !before.marks.contains { $0.id == id } }) {
                throw Failure("\(name) has no mark \(id): 'tributary mark \(name)' lists them")
            }
            let added = try mark(in: library, name, manifest).map { [$0] } ?? []
            let edit: SessionEdit
            do throws(SessionEdit.Flaw) {
                edit = try SessionEdit(addedMarks: added, removedMarks: remove)
            } catch {
                throw UsageError("\(error)")
            }
            if try library.apply(edit, to: name).hasChanged {
                CollectorControl.tellChange(of: name, in: library.layout)
            }
            let marks = library.marks(name).marks
            if json {
                return try JSONOutput.print(
                    marks.map { MarkListing($0, zero: manifest.zeroTime) })
            }
            for mark in marks {
                let time = TimelinePoint.text(mark.atNanoseconds)
                let source = mark.source.map { "  [\($0)]" } ?? ""
                print("\(mark.id)  \(time)\(source)  \(oneLine(mark.text))")
            }
        }
    }

    /// The mark to add; nil without one.
    private func mark(
        in library: RecordingLibrary, _ session: String, _ manifest: SessionManifest
    ) throws -> SessionMarks.Mark? {
        guard let text else { return nil }
        if let source, try !library.sourceNames(session).contains(source) {
            throw Failure(
                "\(session) has no source '\(source)': 'tributary show \(session)' lists them")
        }
        let moment: Int64
        if let at {
            moment = at.sessionNanoseconds(zeroUTCNanoseconds: manifest.zeroTime.nanoseconds)
        } else if manifest.state == .recording, try library.isCollectorRunning() {
            moment = SystemClock.utc.nowNanoseconds - manifest.zeroTime.nanoseconds
        } else {
            throw UsageError("\(session) is not being recorded: say when, with --at 1:23.5")
        }
        return SessionMarks.Mark(
            id: SessionMarks.Mark.newIdentity(), atNanoseconds: moment, text: text, source: source)
    }
}
