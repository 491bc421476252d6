import Testing

@testable import Accounts

/// Order of turns.
@Suite struct TurnsTests {
    @Test func `the owner without a turn is next, then the one that came first`() {
        var turns = Turns<String>()
        #expect(turns.next(of: []) == nil)
        #expect(turns.next(of: ["anna", "ben", "anna"]) == 0)
        turns.begin("anna")
        #expect(turns.next(of: ["anna", "anna", "ben", "carl"]) == 2)
        turns.begin("ben")
        #expect(turns.next(of: ["ben", "anna", "anna"]) == 1)
        turns.begin("anna")
        #expect(turns.next(of: ["anna", "ben", "ben"]) == 1)
    }

    @Test func `the owner of the latest turn gives way to one with an earlier turn or none`() {
        var turns = Turns<String>()
        #expect(turns.last(of: [], after: "anna") == nil)
        #expect(turns.last(of: ["anna", "ben"], after: "carl") == nil)
        turns.begin("anna")
        turns.begin("ben")
        #expect(turns.last(of: ["ben", "anna", "ben", "dora"], after: "carl") == 2)
        #expect(turns.last(of: ["anna", "ben"], after: "anna") == 1)
        #expect(turns.last(of: ["anna", "dora"], after: "ben") == nil)
    }

    @Test func `above the capacity, the oldest turn is forgotten`() {
        var turns = Turns<String>(capacity: 2)
        for owner in ["anna", "ben", "anna", "carl"] { turns.begin(owner) }
        // Ben counts as one without a turn; Anna's turn was before Carl's.
        #expect(turns.next(of: ["carl", "anna", "ben"]) == 2)
        #expect(turns.next(of: ["carl", "anna"]) == 1)
        #expect(turns.next(of: ["ben", "dora"]) == 0)
    }
}
