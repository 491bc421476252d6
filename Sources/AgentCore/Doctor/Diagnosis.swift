/// What one look at a box has found.
package struct Diagnosis: Hashable, Sendable {
    package enum Verdict: String, Hashable, Sendable {
        case ok
        /// It works, but not for long or not well.
        case warning
        /// It does not work.
        case problem
    }

    /// What was looked at, in a word.
    package var subject: String
    package var verdict: Verdict
    /// What was found; when that is wrong, also what to do.
    package var text: String

    package init(_ subject: String, _ verdict: Verdict, _ text: String) {
        self.subject = subject
        self.verdict = verdict
        self.text = text
    }
}
