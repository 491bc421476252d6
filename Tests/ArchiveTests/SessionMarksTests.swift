import Archive
import Testing

/// Bookmarks of a session.
@Suite struct SessionMarksTests {
    private static func mark(_ id: Int, at nanoseconds: Int64, _ text: String = "")
        -> SessionMarks.Mark
    {
        let digits = String(id, radix: 16)
        return SessionMarks.Mark(
            id: String(repeating: "0", count: 16 - digits.count) + digits,
            atNanoseconds: nanoseconds, text: text)
    }

    @Test func `marks are kept by time and written as they are read`() throws {
        let marks = SessionMarks().changed(
            adding: [
                Self.mark(2, at: 9), Self.mark(1, at: -5, "before zero"), Self.mark(3, at: 9),
            ],
            removing: [])
        #expect(marks.marks.map(\.atNanoseconds) == [-5, 9, 9])
        #expect(marks.marks.map(\.id.last) == ["1", "2", "3"])
        #expect(try SessionMarks.parse(marks.encoded(), path: "marks.json") == marks)
    }

    @Test func `adding a mark again replaces it, and removing an absent one changes nothing`() {
        let one = SessionMarks().changed(adding: [Self.mark(1, at: 1, "a")], removing: [])
        #expect(one.changed(adding: [Self.mark(1, at: 1, "a")], removing: []) == one)
        let moved = one.changed(adding: [Self.mark(1, at: 7, "b")], removing: [])
        #expect(moved.marks == [Self.mark(1, at: 7, "b")])
        let none = moved.changed(adding: [], removing: [Self.mark(1, at: 0).id])
        #expect(none.marks.isEmpty)
        #expect(none.changed(adding: [], removing: [Self.mark(1, at: 0).id]) == none)
    }

    @Test(arguments: [
        "{", "[]", #"{"marks": 1}"#,
        #"{"marks": [{"id": "1", "atNanoseconds": 1, "text": ""}]}"#,
        #"{"marks": [{"id": "000000000000000A", "atNanoseconds": 1, "text": ""}]}"#,
        #"{"marks": [{"id": "0000000000000001", "atNanoseconds": 9000000000000000000, "text": ""}]}"#,
        #"{"marks": [{"id": "0000000000000001", "atNanoseconds": 1, "text": "", "source": "../x"}]}"#,
        #"{"marks": [{"id": "0000000000000001", "atNanoseconds": 1, "text": ""}, {"id": "0000000000000001", "atNanoseconds": 2, "text": ""}]}"#,
    ])
    func `an invalid file of marks is refused`(_ text: String) {
        #expect(throws: ArchiveError.self) {
            try SessionMarks.parse(Array(text.utf8), path: "marks.json")
        }
    }

    @Test func `identities are drawn with all their digits`() {
        for _ in 0..<100 {
            #expect(SessionMarks.Mark.isIdentity(SessionMarks.Mark.newIdentity()))
        }
    }
}
