/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "memory.h"

#include <stdio.h>

#define FOLDER "/sys/kernel/mm/hugepages/hugepages-2048kB/"

static unsigned long number(const char *file)
{
	unsigned long value = 0;
	FILE *f = fopen(file, "re");

	if (!f)
		return 0;
	if (fscanf(f, "%lu", &value) != 1)
		value = 0;
	fclose(f);
	return value;
}

unsigned long frame_huge_memory(void)
{
	unsigned long over = number(FOLDER "nr_overcommit_hugepages"),
		      made = number(FOLDER "surplus_hugepages"),
		      taken = number(FOLDER "resv_hugepages"),
		      idle = number(FOLDER "free_hugepages");

	idle = idle > taken ? idle - taken : 0;
	return 2 * (idle + (over > made ? over - made : 0));
}
