import Dispatch
import Synchronization
import Testing

@testable import Archive

/// Sessions whose files do not answer.
@Suite struct SessionPatienceTests {
    private static let layout = ArchiveLayout(root: "/nowhere")
    private static let names = ["a", "b", "c", "d"]

    /// A gate at which threads wait.
    private final class Gate: Sendable {
        private let gate = DispatchSemaphore(value: 0)
        let passes = Atomic(0)

        func wait() {
            passes.add(1, ordering: .relaxed)
            gate.wait()
            gate.signal()
        }

        func open() { gate.signal() }
    }

    private func values(_ answers: [SessionPatience.Answer<String>]) -> [String?] {
        answers.map { if case .value(let value) = $0 { value } else { nil } }
    }

    @Test func `answers are in the order of the sessions`() throws {
        let answers = try SessionPatience().each(Self.names, in: Self.layout) { "\($0)!" }
        #expect(values(answers) == ["a!", "b!", "c!", "d!"])
        #expect(try SessionPatience().each([], in: Self.layout) { "\($0)!" }.isEmpty)
    }

    @Test func `a session that does not answer is left out, and not asked again until it does`()
        throws
    {
        let patience = SessionPatience(nanoseconds: 300_000_000)
        let gate = Gate()
        let look: @Sendable (String) throws(ArchiveError) -> String = { name in
            if name == "b" { gate.wait() }
            return name
        }
        for _ in 0..<3 {
            let answers = try patience.each(Self.names, in: Self.layout, look)
            #expect(values(answers) == ["a", nil, "c", "d"])
            guard case .silence(let error) = answers[1] else { continue }
            #expect(error.isForSilence)
            #expect("\(error)".contains("/nowhere/sessions/b"))
        }
        #expect(gate.passes.load(ordering: .relaxed) == 1)
        gate.open()
        var last: [String?] = []
        for _ in 0..<100 where last != Self.names {
            last = values(try patience.each(Self.names, in: Self.layout, look))
        }
        #expect(last == Self.names)
    }

    @Test func `an error of one session is thrown`() {
        #expect(throws: ArchiveError.badName("c")) {
            try SessionPatience().each(Self.names, in: Self.layout) {
                name throws(ArchiveError) in
                if name == "c" { throw .badName(name) }
                return name
            }
        }
    }
}
