import Archive
import ArgumentParser
import Catalog
import JSON
import Library
import Recordings
import Terminal

/// `tributary note`: labels of a session.
struct NoteCommand: ErasingCommand, RepeatingCommand {
    static let erasableOptions: Set = ["name", "note"]
    static let repeatableOptions: Set = ["archive"]

    static let configuration = CommandConfiguration(
        commandName: "note",
        abstract: "Sets the name, tags and note of a session; without options, shows them.",
        discussion: """
            --archive is repeatable to show the labels of several archives: the name and the note of the first one by name that has \
            any, and the tags of all. Given once to change them. With --catalog \(CatalogReference.serverForm) and no --archive, the labels are changed \
            in all archives of the site that have the session.
            """)

    @OptionGroup var archive: ChangedArchiveOptions

    @Argument(help: "A session, or 'latest'.")
    var session: String

    @Option(help: "Name of the session; empty removes it.")
    var name: String?

    @Option(help: ArgumentHelp("Tag to add. Repeatable.", valueName: "tag"))
    var tag: [String] = []

    @Option(help: ArgumentHelp("Tag to remove. Repeatable.", valueName: "tag"))
    var untag: [String] = []

    @Option(help: "Note; empty removes it.")
    var note: String?

    @Flag(help: "Print JSON.")
    var json = false

    private func edit() throws(SessionEdit.Flaw) -> SessionEdit {
        try SessionEdit(name: name, note: note, addedTags: tag, removedTags: untag)
    }

    private var isReading: Bool { name == nil && note == nil && tag.isEmpty && untag.isEmpty }

    func validate() throws {
        if !isReading { try archive.validateForChange() }
        do throws(SessionEdit.Flaw) {
            _ = try edit()
        } catch {
            switch error {
            case .longName, .longNote:
                throw ValidationError(
                    "\(error == .longName ? "--name" : "--note") is too long: use at most "
                        + "\(SessionNotes.maximumTextBytes) bytes")
            case .badName(let name):
                throw ValidationError(
                    "--name '\(oneLine(String(name.prefix(80))))' is not a valid name: use one line; --note takes several"
                )
            case .badTag(let tag):
                throw ValidationError(
                    "--tag '\(oneLine(String(tag.prefix(80))))' is not a valid tag: use one line of at most "
                        + "\(SessionEdit.maximumTagBytes) bytes")
            case .unusableName, .badMarkText, .badMarkTime, .badMark:
                throw ValidationError("\(error)")
            }
        }
    }

    func run() throws {
        try withArchiveErrors {
            let site = try archive.reachedSite()
            let catalog = try archive.catalog.forWriting("tributary")
            let finder = site?.finder ?? OneArchive.finder(archive.archive, catalog)
            let place = try finder.session(named: session)
            let notes: SessionNotes
            if isReading, site != nil || !place.library.members.isEmpty {
                notes = place.library.labels(place.name)
            } else if let site {
                notes = try change(site, place, catalog)
            } else {
                let (changed, hasChanged) = try place.library.apply(try edit(), to: place.name)
                if hasChanged {
                    CollectorControl.tellChange(of: place.name, in: place.library.layout)
                }
                notes = changed
            }
            if json {
                try JSONOutput.print(notes)
            } else {
                show(notes, of: place.name)
            }
            if isReading { try finder.checkComplete() }
        }
    }

    /// In all archives of a site that have the session.
    /// - Returns: the labels after the change. Other machines are not asked for them again.
    private func change(
        _ site: ChangedArchiveOptions.Site, _ place: FoundSession, _ catalog: CatalogReference
    ) throws -> SessionNotes {
        let edit = try edit()
        let before = place.library.labels(place.name)
        let changes = try SiteChanges(
            site.archives, site: site.access, shutdown: LongWork.end,
            apply: { edit, session, layout in
                let library = try RecordingLibrary(layout.root, catalog: catalog) {
                    Program.complain($0)
                }
                if try library.apply(edit, to: session).hasChanged {
                    CollectorControl.tellChange(of: session, in: layout)
                }
            }, complain: { Program.complain($0) })
        let copies = try place.library.merged?.session(place.name).copies ?? []
        try changes.change(edit, of: Set(copies.map(\.manifest.session) + [place.name]))
        return edit.applied(to: before)
    }

    private func show(_ notes: SessionNotes, of session: String) {
        print("session  \(session)")
        if let name = notes.name { print("name     \(oneLine(name))") }
        if !notes.tags.isEmpty {
            print("tags     \(oneLine(notes.tags.joined(separator: ", ")))")
        }
        for (index, line) in (notes.note ?? "").split(separator: "\n").enumerated() {
            print("\(index == 0 ? "note     " : "         ")\(oneLine(String(line)))")
        }
    }
}
