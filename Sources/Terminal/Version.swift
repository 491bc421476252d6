/// Name and version of all programs of a build.
package enum Version {
    /// Semantic version, as in `CHANGELOG.md`.
    package static let number = "0.1.0"

    /// Name and version of a program, for peers and recordings.
    package static func software(_ program: String) -> String { "\(program) \(number)" }
}
