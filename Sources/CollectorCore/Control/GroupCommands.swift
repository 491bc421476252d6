import Wire

/// The requests that programs of the archive's group may make, at the socket for commands.
enum GroupCommands {
    /// Why a request is refused; nil: it is permitted.
    static func refusal(of request: ControlRequest.Request) -> ControlReply.Reply? {
        switch request {
        case .stopSession, .changeSession: nil
        case .command(.change(let change), _) where change.video != nil || change.audio != nil:
            // The right to watch does not include the choice of a box's files and addresses.
            .failure(.refused, "devices cannot be changed at this socket: use 'tributary agent'")
        case .command(.status, _), .command(.controls, _), .command(.change, _),
            .command(.keyframe, _), .command(.snapshot, _), .command(.unknown, _):
            nil
        case .sessionChanged, .drain, .status, .unknown:
            .failure(.unknownRequest, "this socket does not take that request")
        }
    }
}
