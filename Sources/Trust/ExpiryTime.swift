import Media

/// Instants in key files: UTC, to the second (RFC 3339).
package enum ExpiryTime {
    /// - Parameter seconds: since 1970.
    package static func text(_ seconds: Int64) -> String {
        let time = CivilTime(secondsSince1970: seconds)
        return "\(time.date)T\(time.clock)Z"
    }

    /// Seconds since 1970; nil for text in another format.
    package static func seconds(_ text: String) -> Int64? {
        text.hasSuffix("Z") ? CivilTime(text.utf8.dropLast())?.secondsSince1970 : nil
    }
}
