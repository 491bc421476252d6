import Wire

/// What programs of the archive's group may ask of a collector, at its socket for commands.
enum GroupCommands {
    /// Why a request is refused; nil: it is carried out.
    static func refusal(of request: ControlRequest.Request) -> ControlReply.Reply? {
        switch request {
        case .stopSession, .changeSession: nil
        case .command(.change(let change), _) where change.video != nil || change.audio != nil:
            // Which files and addresses a box opens is not for everybody who may watch.
            .failure(.refused, "devices cannot be changed at this socket: use 'tributary agent'")
        case .command: nil
        case .sessionChanged, .status, .unknown:
            .failure(.unknownRequest, "this socket does not take that request")
        }
    }
}
