/* tools.h -- the mains of tools as functions, for trace-mcp, which runs them: each is compiled once more,
 * with this header in front and another name (render/CMakeLists.txt). Only trace-mcp includes it. */
#ifndef GP_RENDER_MCP_TOOLS_H
#define GP_RENDER_MCP_TOOLS_H

int gp_main_trace_hta(int argc, char **argv);
int gp_main_trace_suggest(int argc, char **argv);
int gp_main_trace_diff(int argc, char **argv);
int gp_main_trace_query(int argc, char **argv);
int gp_main_trace2timeline(int argc, char **argv);

#endif
