import Archive
import Library
import Recordings
import Testing

/// Users' edits of a session.
@Suite struct SessionEditTests {
    @Test func `an edit changes only the labels that it names`() throws {
        let before = SessionNotes(name: "Rehearsal", tags: ["a", "b"], note: "of Monday")
        let renamed = try SessionEdit(name: "Premiere").applied(to: before)
        #expect(renamed == SessionNotes(name: "Premiere", tags: ["a", "b"], note: "of Monday"))
        let tagged = try SessionEdit(addedTags: ["c", "a"], removedTags: ["b"]).applied(to: before)
        #expect(tagged.tags == ["a", "c"])
        let emptied = try SessionEdit(name: "", note: "", removedTags: ["a", "b"])
        #expect(emptied.applied(to: before) == SessionNotes())
    }

    @Test func `an invalid mark is refused`() throws {
        func mark(
            id: String = "0123456789abcdef", at: Int64 = 1, text: String = "x",
            source: String? = nil
        ) -> SessionMarks.Mark {
            SessionMarks.Mark(id: id, atNanoseconds: at, text: text, source: source)
        }
        #expect(try SessionEdit(addedMarks: [mark()]).addedMarks == [mark()])
        // A mark needs no text.
        #expect(try SessionEdit(addedMarks: [mark(text: "")]).addedMarks == [mark(text: "")])
        for (wrong, flaw) in [
            (mark(id: "0123"), .badMark), (mark(id: "0123456789ABCDEF"), .badMark),
            (mark(source: ".."), .badMark), (mark(at: .max), .badMarkTime),
            (mark(at: .min), .badMarkTime), (mark(text: "a\nb"), .badMarkText),
            (mark(text: String(repeating: "x", count: 513)), .badMarkText),
        ] as [(SessionMarks.Mark, SessionEdit.Flaw)] {
            #expect(throws: flaw) { try SessionEdit(addedMarks: [wrong]) }
        }
        #expect(throws: SessionEdit.Flaw.badMark) { try SessionEdit(removedMarks: ["../x"]) }
    }

    @Test(
        arguments: [
            (String(repeating: "x", count: 4_097), nil, []), ("a\nb", nil, []),
            ("a\u{85}b", nil, []),
            (nil, String(repeating: "x", count: 4_097), []), (nil, nil, [""]), (nil, nil, ["a\tb"]),
            (nil, nil, [String(repeating: "ä", count: 33)]),
        ] as [(String?, String?, [String])])
    func `an invalid text is refused`(
        name: String?, note: String?, tags: [String]
    ) {
        #expect(throws: SessionEdit.Flaw.self) {
            try SessionEdit(name: name, note: note, addedTags: tags)
        }
        if !tags.isEmpty {
            #expect(throws: SessionEdit.Flaw.self) { try SessionEdit(removedTags: tags) }
        }
    }

    @Test func `a note may have lines`() throws {
        #expect(try SessionEdit(note: "a\nb").applied(to: SessionNotes()).note == "a\nb")
    }
}
