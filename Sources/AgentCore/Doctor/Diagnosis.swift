/// Result of one check.
package struct Diagnosis: Hashable, Sendable {
    package enum Verdict: String, Hashable, Sendable {
        case ok
        /// It works with restrictions.
        case warning
        /// It does not work.
        case problem
    }

    /// The checked item, in a word.
    package var subject: String
    package var verdict: Verdict
    /// The result; for a failure, with what to do.
    package var text: String

    package init(_ subject: String, _ verdict: Verdict, _ text: String) {
        self.subject = subject
        self.verdict = verdict
        self.text = text
    }
}
