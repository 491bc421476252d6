import Archive
import ArgumentParser
import Catalog
import JSON
import Library
import Recordings
import Terminal

/// `tributary note`: labels of a session.
struct NoteCommand: ErasingCommand {
    static let erasableOptions: Set = ["name", "note"]
    static let configuration = CommandConfiguration(
        commandName: "note",
        abstract: "Sets the name, tags and note of a session; without options, shows them.")

    @OptionGroup var archive: DirectoryOptions
    @OptionGroup var catalog: CatalogOptions

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

    func validate() throws {
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
            case .badMarkText, .badMarkTime, .badMark:
                throw ValidationError("\(error)")
            }
        }
    }

    func run() throws {
        try withArchiveErrors {
            let place = try archive.finder(
                try catalog.forWriting("tributary")
            ).session(named: session)
            let session = place.name
            let (notes, hasChanged) = try place.library.apply(try edit(), to: session)
            if hasChanged { CollectorControl.tellChange(of: session, in: place.library.layout) }
            if json { return try JSONOutput.print(notes) }
            print("session  \(session)")
            if let name = notes.name { print("name     \(oneLine(name))") }
            if !notes.tags.isEmpty {
                print("tags     \(oneLine(notes.tags.joined(separator: ", ")))")
            }
            if let note = notes.note { print("note     \(note)") }
        }
    }
}
