/// An error response of a store, and its meaning.
struct StoreRefusal: Sendable {
    /// HTTP status.
    var status: Int
    /// Code and message of the response's `Error`; empty without one, as for `HEAD`.
    var code: String
    var message: String
    /// Difference of the store's clock from ours, nanoseconds; nil: unknown.
    var clockDifferenceNanoseconds: Int64?
    /// The least pause before the next request, nanoseconds; nil: the store does not ask for one.
    var retryAfterNanoseconds: Int64?

    /// Maximum of ``retryAfterNanoseconds``: a wrong value must not stop uploads for long.
    private static let longestRetryAfterSeconds: Int64 = 300
    /// S3 rejects signatures with a clock difference above 15 minutes.
    private static let greatestDifferenceNanoseconds: Int64 = 15 * 60 * 1_000_000_000
    private static let maximumMessageCharacters = 160

    /// - Parameter condition: of the request: it determines the meaning of 412.
    func kind(_ condition: PutCondition) -> ObjectStoreError.Kind {
        if let kind = Self.kinds[code] { return kind }
        switch status {
        case 401, 403:
            let difference = clockDifferenceNanoseconds?.magnitude ?? 0
            return difference > UInt64(Self.greatestDifferenceNanoseconds) ? .clock : .denied
        case 404: return .gone
        case 408, 409, 429, 500, 502, 503, 504: return .busy
        case 412: return condition == .absent ? .exists : .changed
        case 416: return .changed
        case 507: return .full
        default: return .refused
        }
    }

    /// The value of `Retry-After` as a pause: seconds, or a date (RFC 9110 §10.2.3).
    /// - Parameter serverNanoseconds: the time of the answer by the store's clock, nanoseconds since 1970.
    static func pause(retryAfter text: String, serverNanoseconds: Int64) -> Int64? {
        let pause: Int64
        if let seconds = Int64(text) {
            pause = min(seconds, longestRetryAfterSeconds) * 1_000_000_000
        } else if let date = RequestTime(httpDate: text)?.nanoseconds {
            pause = min(date - serverNanoseconds, longestRetryAfterSeconds * 1_000_000_000)
        } else {
            return nil
        }
        return pause > 0 ? pause : nil
    }

    /// Codes whose meaning does not follow from the status (Amazon S3 API Reference, "Error responses").
    private static let kinds: [String: ObjectStoreError.Kind] = [
        "AccessDenied": .denied,
        "AuthorizationHeaderMalformed": .denied,
        "BadDigest": .digest,
        "BucketAlreadyExists": .refused,
        "ExpiredToken": .denied,
        "IncompleteBody": .unreachable,
        "InternalError": .busy,
        "InvalidAccessKeyId": .denied,
        "InvalidDigest": .digest,
        "InvalidPart": .gone,
        "InvalidToken": .denied,
        "NoSuchBucket": .noBucket,
        "NoSuchKey": .gone,
        "NoSuchUpload": .gone,
        "QuotaExceeded": .full,
        "RequestTimeTooSkewed": .clock,
        "RequestTimeout": .busy,
        "ServiceUnavailable": .busy,
        "SignatureDoesNotMatch": .denied,
        "SlowDown": .busy,
        "StorageFull": .full,
        "TokenRefreshRequired": .denied,
        "XAmzContentChecksumMismatch": .digest,
        "XAmzContentSHA256Mismatch": .digest,
        "XMinioStorageFull": .full,
    ]

    /// The error and a remedy, in one line.
    /// - Parameter secrets: removed from the text, in case the store repeats them.
    func text(_ kind: ObjectStoreError.Kind, hiding secrets: [String]) -> String {
        func hidden(_ text: String) -> String {
            // Before truncation, so that no part of a secret remains.
            Self.oneLine(
                secrets.filter { !$0.isEmpty }.reduce(text) { $0.replacing($1, with: "...") })
        }
        var said = "the store answers \(status)"
        if !code.isEmpty { said += " \(hidden(code))" }
        if !message.isEmpty { said += " (\(hidden(message)))" }
        return Self.advice(kind, self).map { "\(said); \($0)" } ?? said
    }

    private static func advice(
        _ kind: ObjectStoreError.Kind, _ refusal: StoreRefusal
    ) -> String? {
        switch kind {
        case .denied:
            refusal.code == "AuthorizationHeaderMalformed"
                ? "give the bucket's region in --store-region"
                : "check the credentials and their rights to the bucket"
        case .clock: "set this machine's clock"
        case .noBucket: "create the bucket, or correct its name"
        case .full: "make room in the store, or raise its quota"
        case .busy, .unreachable: "try again later"
        case .refused:
            (300..<400).contains(refusal.status)
                ? "redirects are not followed: give the bucket's region in --store-region, or its --store-endpoint"
                : nil
        case .gone, .exists, .changed, .digest, .stopped: nil
        }
    }

    /// Printable ASCII, truncated.
    static func oneLine(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(maximumMessageCharacters).map { scalar in
            (0x20...0x7E).contains(scalar.value) ? Character(scalar) : " "
        }
        return String(scalars)
    }
}
