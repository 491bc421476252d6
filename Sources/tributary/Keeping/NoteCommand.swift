import Archive
import ArgumentParser
import Library
import Terminal

/// `tributary note`: what people say of a session.
struct NoteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "note",
        abstract: "Sets the name, tags and note of a session; without options, shows them.")

    @OptionGroup var archive: ArchiveOptions

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

    func validate() throws {
        for (option, text) in [("--name", name), ("--note", note)] {
            guard let text else { continue }
            guard text.utf8.count <= SessionNotes.maximumTextBytes else {
                throw ValidationError(
                    "\(option) is too long: use at most \(SessionNotes.maximumTextBytes) bytes")
            }
        }
        if let name, !Self.isOneLine(name) {
            throw ValidationError(
                "--name '\(oneLine(String(name.prefix(80))))' is not a valid name: use one line; --note takes several"
            )
        }
        for tag in tag + untag {
            guard !tag.isEmpty, tag.utf8.count <= 64, Self.isOneLine(tag) else {
                throw ValidationError(
                    "--tag '\(oneLine(String(tag.prefix(80))))' is not a valid tag: use one line of at most 64 bytes"
                )
            }
        }
    }

    /// Without line breaks and other control characters.
    private static func isOneLine(_ text: String) -> Bool {
        oneLine(text) == text && !text.contains(where: \.isNewline)
    }

    func run() throws {
        try withArchiveErrors {
            let place = try archive.finder.session(named: session)
            let session = place.name
            var notes = try SessionNotes.read(session, in: place.library.layout)
            let before = notes
            if let name { notes.name = name.isEmpty ? nil : name }
            if let note { notes.note = note.isEmpty ? nil : note }
            notes.tags = Set(notes.tags).union(tag).subtracting(untag).sorted()
            guard notes.tags.count <= SessionNotes.maximumTags else {
                throw Failure(
                    "\(session) would have more than \(SessionNotes.maximumTags) tags: remove some with --untag"
                )
            }
            if notes != before {
                try place.library.setLabels(notes, of: session)
                CollectorControl.tellChange(of: session, in: place.library.layout)
            }
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
