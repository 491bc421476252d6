/// Delay of the next attempt after a camera has refused the login.
///
/// Many cameras lock an account, or this machine's address, after five to ten wrong logins within half an hour.
enum LoginPause {
    private static let firstNanoseconds: Int64 = 30_000_000_000
    private static let longestNanoseconds: Int64 = 900_000_000_000

    /// 30 s, 2 min, 8 min, then 15 min.
    /// - Parameter refusals: consecutive refusals, at least 1.
    static func nanoseconds(refusals: Int) -> Int64 {
        min(firstNanoseconds << (2 * min(refusals - 1, 8)), longestNanoseconds)
    }
}
