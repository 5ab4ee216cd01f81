package monitor

import (
	"context"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

const (
	// grpcAnswerBytesMax is how large a message a server may answer. A health response has a few bytes.
	grpcAnswerBytesMax = answerBytesMax
	// grpcHeadBytesMax is how large the fields of an answer may be. Among them is the text of an error.
	grpcHeadBytesMax = 16 << 10
	// grpcReasonBytesMax is how much of that text becomes the reason of a verdict.
	grpcReasonBytesMax = 200
)

// probeGRPC asks the server's health service (grpc.health.v1) for the state of one of its services.
func probeGRPC(ctx context.Context, target Target) Outcome {
	connection, err := connect(ctx, target)
	if err != nil {
		return failed(target, err)
	}
	defer connection.Close()
	client, err := grpcClient(target, connection)
	if err != nil {
		return Outcome{Reason: err.Error()}
	}
	defer client.Close()
	service := target.Monitor.GRPC.Service
	answer, err := health.NewHealthClient(client).Check(ctx, &health.HealthCheckRequest{Service: service})
	switch {
	case status.Code(err) == codes.DeadlineExceeded:
		return failed(target, context.DeadlineExceeded)
	case status.Code(err) == codes.NotFound:
		return Outcome{Reason: fmt.Sprintf("it does not know the service %q", service)}
	case status.Code(err) == codes.Unimplemented:
		return Outcome{Reason: "it has no health service (grpc.health.v1)"}
	case err != nil:
		return Outcome{Reason: fmt.Sprintf("%s: %s", status.Code(err), firstLine(status.Convert(err).Message()))}
	case answer.GetStatus() != health.HealthCheckResponse_SERVING:
		return Outcome{Reason: fmt.Sprintf("the service %q is %s", service, answer.GetStatus())}
	default:
		return Outcome{Up: true}
	}
}

// firstLine returns the beginning of a server's text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ToValidUTF8(line[:min(len(line), grpcReasonBytesMax)], "")
}

// grpcClient speaks on an open connection, and opens no other one.
func grpcClient(target Target, connection net.Conn) (*grpc.ClientConn, error) {
	unused := make(chan net.Conn, 1)
	unused <- connection
	dial := func(context.Context, string) (net.Conn, error) {
		select {
		case connection := <-unused:
			return connection, nil
		default:
			return nil, fmt.Errorf("it closed the connection")
		}
	}
	security := insecure.NewCredentials()
	if target.Monitor.GRPC.TLS {
		security = credentials.NewTLS(clientTLS(target))
	}
	return grpc.NewClient("passthrough:///"+host(target),
		grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(security),
		grpc.WithUserAgent("weir-monitor/1"),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithNoProxy(),
		grpc.WithMaxHeaderListSize(grpcHeadBytesMax),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(grpcAnswerBytesMax)))
}
