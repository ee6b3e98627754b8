/** Every request to the server goes through here: same origin, JSON, problems as errors with their detail. */
import { authHeaders, checkToken } from "./token";

export class ApiError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export const BUSY_TEXT = "Session is currently being optimized. Please wait a moment.";
export const OFFLINE_TEXT = "Not connected. Your text is kept.";

interface Problem {
  title?: string;
  detail?: unknown;
  code?: string;
}

/** The sentence to show for a failed answer: the problem's detail, its title, or the status. */
export function problemText(status: number, body: string): { code: string; text: string } {
  try {
    const problem = JSON.parse(body) as Problem;
    const detail = typeof problem.detail === "string" ? problem.detail : undefined;
    return { code: problem.code ?? "", text: detail ?? problem.title ?? `The server answered ${status}.` };
  } catch {
    return { code: "", text: `The server answered ${status}.` };
  }
}

async function request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json", ...authHeaders() };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "offline", "The server is not answering. Is `compact studio` still running?");
  }
  checkToken(answer);
  const text = await answer.text();
  if (!answer.ok) {
    const problem = problemText(answer.status, text);
    throw new ApiError(answer.status, problem.code, problem.text);
  }
  return (text ? JSON.parse(text) : undefined) as T;
}

export const api = {
  get: <T>(path: string, signal?: AbortSignal) => request<T>("GET", path, undefined, signal),
  post: <T>(path: string, body: unknown = {}, signal?: AbortSignal) => request<T>("POST", path, body, signal),
  put: <T>(path: string, body: unknown) => request<T>("PUT", path, body),
  patch: <T>(path: string, body: unknown) => request<T>("PATCH", path, body),
  delete: <T>(path: string) => request<T>("DELETE", path),
};

export function sessionPath(id: string, rest = ""): string {
  return `/api/sessions/${encodeURIComponent(id)}${rest}`;
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
