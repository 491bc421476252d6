import Testing

@testable import Accounts

struct `An account's rights` {
    @Test func `to a source include its preview, but not the reverse`() throws {
        let door = Rights(role: .operator, sources: try #require(SourceScope("door")))
        #expect(door.mayRead("door.preview"))
        #expect(door.mayOperate("door.preview"))
        #expect(!door.mayRead("hall.preview"))
        #expect(!door.mayRead("door.preview.preview"))
        #expect(!door.mayRead("door.other"))
        #expect(door.sources.names == ["door", "door.preview"])
        let preview = Rights(role: .viewer, sources: try #require(SourceScope("door.preview")))
        #expect(preview.mayRead("door.preview"))
        #expect(!preview.mayRead("door"))
        #expect(preview.sources.names == ["door.preview"])
        #expect(SourceScope.all.names == nil)
    }

    @Test func `of a viewer permit reading its sources`() throws {
        let some = Rights(role: .viewer, sources: try #require(SourceScope("door,stage")))
        #expect(some.mayRead("door"))
        #expect(!some.mayRead("hall"))
        #expect(!some.mayRead(""))
        #expect(!some.mayReadEverything)
        #expect(!some.mayOperate("door"))
        #expect(!some.mayOperateSite)
        #expect(some.filter(["stage", "hall", "door"]) == ["stage", "door"])
        let all = Rights(role: .viewer, sources: .all)
        #expect(all.mayRead("hall"))
        #expect(all.mayReadEverything)
        #expect(!all.mayOperate("hall"))
        #expect(!all.mayOperateSite)
    }

    @Test func `of an operator permit changes of its sources`() throws {
        let some = Rights(role: .operator, sources: try #require(SourceScope("door")))
        #expect(some.mayOperate("door"))
        #expect(!some.mayOperate("hall"))
        #expect(!some.mayRead("hall"))
        // Operating a site needs the right to every source.
        #expect(!some.mayOperateSite)
        #expect(Rights.everything.mayOperateSite)
        #expect(Rights.everything.mayOperate("hall"))
    }

    @Test func `of an unknown account are empty`() {
        #expect(!Rights.nothing.mayRead("door"))
        #expect(Rights.nothing.filter(["door"]).isEmpty)
    }

    @Test func `name their sources sorted`() {
        #expect(SourceScope("stage,door")?.text == "door,stage")
        #expect(SourceScope("*") == .all)
        #expect(SourceScope("*")?.text == "*")
    }

    @Test(arguments: [
        "", ",", "door,", ",door", "door,,stage", "door,door", "door stage", "door/..", "..", "**",
        "door*", "*,door", "door\0", "-door", String(repeating: "x", count: 65), "tür",
    ])
    func `do not accept invalid lists`(text: String) {
        #expect(SourceScope(text) == nil)
    }
}
